"""NannyML's CBPE on the survey's cases; run by a Python of its own, so it imports nothing of this package.

``python cbpe.py VIEWS OUT.json``: reads the stored views, writes ``{"DATA-SEED/KIND@STRENGTH": accuracy}``.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def main(folder: Path, out: Path) -> None:
    """Estimate every case of every net."""
    warnings.simplefilter("ignore")
    found: dict[str, float] = {}
    for path in sorted(folder.glob("*.npz")):
        named = re.fullmatch(r"(.+)-(\d+)-[a-z]+\.npz", path.name)
        if named:
            found |= {f"{named[1]}-{named[2]}/{key}": value for key, value in estimates(path).items()}
    out.write_text(json.dumps(found))


def estimates(path: Path) -> dict[str, float]:
    """CBPE fitted on one net's reference, estimated on all of its cases, each case one chunk."""
    import nannyml
    import pandas

    with np.load(path, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored}
    reference = frame(pandas, arrays, "reference")
    k = arrays["reference/logits"].shape[1]
    classes: Any = {str(c): f"p{c}" for c in range(k)} if k > 2 else "p1"
    cbpe = nannyml.CBPE(
        problem_type="classification_multiclass" if k > 2 else "classification_binary",
        y_pred_proba=classes, y_pred="decided", y_true="label", metrics=["accuracy"], chunk_number=1,
    )  # fmt: skip
    cbpe.fit(reference)
    result = {}
    for key in sorted({name.split("/")[0] for name in arrays} - {"reference"}):
        table = cbpe.estimate(frame(pandas, arrays, key)).filter(period="analysis").to_df()
        result[key] = float(table[("accuracy", "value")].iloc[-1])
    return result


def frame(pandas: Any, arrays: dict[str, Any], key: str) -> Any:
    """Probabilities, decisions and labels as a data frame."""
    logits = arrays[f"{key}/logits"].astype(np.float64)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    binary = p.shape[1] == 2
    columns: dict[str, Any] = {f"p{c}": p[:, c] for c in range(p.shape[1])}
    decided, label = p.argmax(1), arrays[f"{key}/labels"]
    columns["decided"] = decided if binary else decided.astype(str)
    columns["label"] = label if binary else label.astype(str)
    return pandas.DataFrame(columns)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
