"""What a bundle says in words: a page of plain claims, and a model card with a head for model hubs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from wassermix.attacks.result import AttackResult
from wassermix.certify.result import Certificates

__all__ = ["model_card", "summary_page"]

NOT_CLAIMED = """## What is not claimed

- Nothing is claimed about changes of the input other than those of l2 length below the radius (certificates)
  or those that the attacks tried (attacks): not about blur, rotation, other norms, or other data.
- Accuracy under attack is an upper bound: a stronger attack may find more.
- The certificates are about the *smoothed* classifier (the vote under Gaussian noise), not about one
  forward of the network.
- Nothing is claimed about samples that were not judged, beyond what the intervals say for samples like these.
"""


def summary_page(
    name: str,
    about: Mapping[str, Any],
    certified: Mapping[str, Certificates],
    attacked: Sequence[AttackResult],
) -> str:
    """One page: what is claimed, with which confidence, what is not, and how to check it."""
    lines = [f"# Evidence about {name}", "", f"Model {about.get('model')}, data {about.get('data')}.", ""]
    lines += ["## What is claimed", ""]
    for title, certificates in certified.items():
        lines += [f"- {sentence}" for sentence in _certified_claims(title, certificates)]
    lines += [f"- {_attacked_claim(result)}" for result in attacked]
    if not certified and not attacked:
        lines += ["- Nothing: no certification and no attack was run."]
    lines += ["", NOT_CLAIMED, "## How to check it", ""]
    lines += [
        "`wassermix verify THIS_FOLDER` recomputes every certificate from its counts and every file's hash;",
        "`--replay 20` also draws the noise of twenty images again and compares count for count, with the",
        "samples in `samples.npz`, or where that was left out with the data set (`--data`).",
        "",
    ]
    return "\n".join(lines)


def model_card(
    name: str,
    about: Mapping[str, Any],
    certified: Mapping[str, Certificates],
    attacked: Sequence[AttackResult],
) -> str:
    """Markdown with a YAML head: tags, data set and measured results."""
    head = {
        "tags": ["robustness", "randomized-smoothing", "wassermix"],
        "library_name": "wassermix",
        "model-index": [{"name": name, "results": [*_results(about, certified, attacked)]}],
    }
    body = summary_page(name, about, certified, attacked).partition("\n")[2]
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n# {name}\n{body}"


def _certified_claims(title: str, certificates: Certificates) -> Iterator[str]:
    settings = certificates.settings
    assert settings is not None
    table = certificates.certified_accuracy()
    shown = [row for row in table if row.count] or table[:1]
    for row in (shown[0], shown[-1]) if len(shown) > 1 else shown:
        yield (
            f"Smoothed with noise of deviation {settings.sigma:g}, the classifier is right within l2 radius "
            f"{row.radius:g} on {row.accuracy:.1%} of {row.images} samples (95% interval {row.low:.1%} to "
            f"{row.high:.1%}; {title}{_weights(certificates.about)})."
        )
    yield certificates.summary()["statement"][0].upper() + certificates.summary()["statement"][1:] + "."


def _attacked_claim(result: AttackResult) -> str:
    robust, failed = result.robust, [check.name for check in result.checks if not check.passed]
    doubt = f" Checks that did not pass: {', '.join(failed)}." if failed else " All sanity checks passed."
    return (
        f"Under {result.title}{_weights(result.parameters)} {robust.accuracy:.1%} of {robust.images} samples "
        f"stay right ({robust.low:.1%} to {robust.high:.1%}); without it {result.clean.accuracy:.1%}.{doubt}"
    )


def _weights(told: Mapping[str, Any]) -> str:
    """What a result must add where it did not judge the run's usual weights."""
    return ", with the weights of the last update" if told.get("weights") == "last" else ""


def _results(
    about: Mapping[str, Any], certified: Mapping[str, Certificates], attacked: Sequence[AttackResult]
) -> Iterator[dict[str, Any]]:
    dataset = {"name": str(about.get("data")), "type": str(about.get("data"))}
    for title, certificates in certified.items():
        metrics = [
            {
                "type": "certified_accuracy",
                "name": f"l2 radius {row.radius:g}",
                "value": round(row.accuracy, 4),
            }
            for row in certificates.certified_accuracy()
        ]
        name = f"{title}{_weights(certificates.about)}"
        yield {"task": {"type": "classification", "name": name}, "dataset": dataset, "metrics": metrics}
    for result in attacked:
        name = f"{result.title}{_weights(result.parameters)}"
        metric = {"type": "accuracy", "name": name, "value": round(result.robust.accuracy, 4)}
        yield {"task": {"type": "classification", "name": "attack"}, "dataset": dataset, "metrics": [metric]}
