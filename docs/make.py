"""Make the pages and pictures of docs/ from the files under results/: ``make docs``.

``python docs/make.py --demo demo-run`` first takes what the picture needs out of a finished demo.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from gallery import make_gallery
from lengths import by_length, leads_by_length
from matplotlib.figure import Figure
from page import fill
from plan import plan_page
from recipe import write_recommendation

from wassermix.evidence.schemas import write_schemas
from wassermix.experiments import (
    draw_figure,
    load_claims,
    load_table,
    study_names,
    table_names,
    table_page,
    verdict_page,
)

ROOT = Path(__file__).parent.parent
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
LAYERS_BEGIN = "<!-- layers: made by docs/make.py from tests/layers.py -->"
LAYERS_END = "<!-- end of layers -->"
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by colour-blind eyes too


def main() -> None:
    """Collect where asked, then draw and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", type=Path, help="the folder of a finished demo")
    parser.add_argument("--schemas", action="store_true", help="only docs/schemas, in a second")
    asked = parser.parse_args()
    write_schemas(DOCS / "schemas")
    if asked.schemas:
        return
    demo = asked.demo
    if demo is not None:
        collect(demo)
        take_screenshot(demo / "report.html", DOCS / "page.png")
    draw_picture()
    fill(ROOT / "README.md", "demo", ["```text", *summary_lines(), "```"])
    draw_studies()
    write_recommendation(RESULTS, DOCS)
    scaling = json.loads((RESULTS / "scaling.json").read_text())
    fill(ROOT / "README.md", "lengths", ["", *by_length(scaling["results"])])
    fill(DOCS / "findings.md", "lengths", ["", *leads_by_length(scaling["runs"]), ""])
    (DOCS / "results.md").write_text(results_page())
    (DOCS / "verdicts.md").write_text(verdicts())
    (DOCS / "architecture.md").write_text(architecture_page())
    (DOCS / "scale.md").write_text(plan_page((DOCS / "scale.md").read_text(encoding="utf-8"), RESULTS))
    make_gallery()


def architecture_page() -> str:
    """docs/architecture.md with the table of layers that the import test enforces."""
    sys.path.insert(0, str(ROOT / "tests"))
    from layers import GROUND, LAYERS

    rows = [
        f"| `{part}` | {purpose} | {', '.join(f'`{name}`' for name in LAYERS if name in below) or '–'} |"
        for part, (purpose, below) in LAYERS.items()
    ]
    table = ["| part | what it is for | imports, beside `" + GROUND + "` |", "|---|---|---|", *rows]
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(LAYERS_BEGIN)
    _, _, after = rest.partition(LAYERS_END)
    return f"{before}{LAYERS_BEGIN}\n" + "\n".join(table) + f"\n{LAYERS_END}{after}"


def collect(demo: Path) -> None:
    """Keep what the docs show of a finished demo: mean geodesics, certified tables, pictures."""
    runs = {
        folder.name: run_record(folder) for folder in sorted(demo.iterdir()) if (folder / "audit").is_dir()
    }
    frames = next((demo / next(iter(runs)) / "audit").glob("*.npz"))
    RESULTS.mkdir(exist_ok=True)
    shutil.copy(frames, RESULTS / "demo-frames.npz")
    (RESULTS / "demo.json").write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    shutil.copy(demo / "summary.txt", RESULTS / "demo.txt")


def summary_lines() -> list[str]:
    """What the demo printed at its end."""
    return (RESULTS / "demo.txt").read_text(encoding="utf-8").splitlines()


def take_screenshot(page: Path, picture: Path) -> None:
    """The top of the demo's page as a reader sees it, where there is a Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.stderr.write("no Chromium here: docs/page.png stays as it is\n")
        return
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,1400"]
    subprocess.run(
        [chromium, *flags, f"--screenshot={picture}", page.resolve().as_uri()],
        check=True,
        capture_output=True,
    )


def run_record(folder: Path) -> dict[str, Any]:
    """What the docs show of one run."""
    audit, certified, attacked = (
        json.loads(next((folder / kind).glob("*.json")).read_text())
        for kind in ("audit", "certify", "attack")
    )
    kept = ("mode", "sigma", "n0", "n", "alpha", "images", "certified", "acr")
    attack = {key: value for key, value in attacked.items() if key not in ("per_image", "checks", "indices")}
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    return {
        "updates": last["updates"],
        "audit": {"parameters": audit["parameters"], "mean": audit["mean"]},
        "certify": {key: certified[key] for key in kept},
        "attack": attack,
    }


def draw_picture() -> None:
    """Digits on their way between classes, and the loss of two models along it."""
    matplotlib.rcParams["svg.hashsalt"] = "wassermix"  # the same picture gives the same file
    stored = np.load(RESULTS / "demo-frames.npz")
    runs = json.loads((RESULTS / "demo.json").read_text())["runs"]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.5))
    strip(above, stored["frames"][:2, 0], stored["pairs"][:2])
    axes = below.subplots()
    for colour, (name, run) in zip(COLOURS, runs.items()):
        axes.plot(
            run["audit"]["mean"]["t"], run["audit"]["mean"]["kl"], color=colour, label=name, linewidth=2
        )
    axes.set(xlim=(0, 1), xlabel="t, from one class (0) to another (1)", ylabel="KL to the mixed label")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(DOCS / "picture.svg", metadata={"Date": None})


def draw_studies() -> None:
    """For every study with a record and a file ``docs/draw_NAME.py``, its ``draw(record, docs)``."""
    for name in study_names():
        record, drawing = RESULTS / f"{name}.json", f"draw_{name.replace('-', '_')}"
        if record.exists() and (DOCS / f"{drawing}.py").exists():
            importlib.import_module(drawing).draw(json.loads(record.read_text()), DOCS)


def strip(figure: Any, frames: np.ndarray, pairs: np.ndarray) -> None:
    """One row of pictures per pair, time from left to right."""
    for row, (samples, pair) in enumerate(zip(frames, pairs)):
        for column, image in enumerate(samples):
            axes = figure.add_subplot(len(frames), len(samples), row * len(samples) + column + 1)
            axes.imshow(image[0], cmap="gray_r", vmin=0, vmax=255)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
            if column == 0:
                axes.set_ylabel(f"{pair[0]} to {pair[1]}", rotation=0, ha="right", va="center")


def results_page() -> str:
    """docs/results.md: the findings in words, then every finished table."""
    words = (DOCS / "findings.md").read_text()
    records = [path for name in table_names() if (path := RESULTS / f"{name}.json").exists()]
    tables = [line for path in records for line in finished_table(json.loads(path.read_text()))]
    parts = [
        words.rstrip(),
        "",
        "## Tables",
        "",
        *tables,
        "## The demo",
        "",
        *demo_table(),
        "",
        "## Speed",
        "",
    ]
    for name, table in SPEED.items():
        if (RESULTS / f"{name}.json").exists():  # benchmarks are run one by one
            parts += [*table(json.loads((RESULTS / f"{name}.json").read_text())), ""]
    return "\n".join(parts).rstrip() + "\n"


def finished_table(record: dict[str, Any]) -> list[str]:
    """A table's part of the page, and its picture where it has one."""
    name = f"{record['table']}.svg"
    drawn = [f"![{record['title']}]({name})", ""] if draw_figure(record, DOCS / name) else []
    return [table_page(record), "", *drawn]


def verdicts() -> str:
    """docs/verdicts.md: the paper's claims against every record that there is."""
    names = [*table_names(), *(f"{name}-paper" for name in table_names()), *study_names()]
    paths = {name: RESULTS / f"{name}.json" for name in names}
    records = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    return verdict_page(load_claims(), {name: load_table(name) for name in table_names()}, records)


def speed_table(record: dict[str, Any]) -> list[str]:
    """Our loops beside bare ones, from the training benchmark."""
    lines = [
        "`make bench`: LeNet on digits, images/s of training and noise draws/s of certification, ours beside "
        f"a bare loop in PyTorch's default memory layout (torch {record['torch']}, batches of "
        f"{record['batch']}; medians, each round in a process of its own). Channels last, kept memory "
        "and, in training, gradients that skip zeros make the difference; a plain loop with the first two is "
        "in [What a certified table costs](certify-benchmark.md), what was tried in training in "
        "[What an update costs](training-benchmark.md).",
        "",
        "| threads | training, ours | bare | ratio | certification, ours | bare | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        training = [f"{row[f'training_{side}']:.0f}" for side in ("ours", "bare")]
        votes = [f"{row[f'certify_{side}']:.0f}" for side in ("ours", "bare")]
        ratios = [f"{row[f'{what}_ratio']:.2f}x" for what in ("training", "certify")]
        lines.append(f"| {row['threads']} | {' | '.join([*training, ratios[0], *votes, ratios[1]])} |")
    return lines


def augment_table(record: dict[str, Any]) -> list[str]:
    """What geodesic augmentation costs, from its benchmark."""
    training, refresh, agreement = record["training"], record["refresh"], record["agreement"]
    lines = [
        f"`python -m benchmarks augment`: {record['machine']['images']} digits, LeNet, one thread. An epoch "
        f"on as many augmented samples as real ones takes {training['augment_ratio']:.2f}x the time of "
        f"equally many updates on real ones alone, with the smoothness term "
        f"{training['augment_and_smooth_ratio']:.2f}x. Searching a quarter of each pair finds the time of "
        f"the full search in {100 * agreement['same_time']:.0f}% of the cases and is off by "
        f"{agreement['mean_difference_of_t']:.3f} in t on average. A stored set takes "
        f"{record['memory']['bytes_a_pixel']:.2f} bytes per pixel. Where a refresh spends its time:",
        "",
        "| part | seconds | of the refresh |",
        "|---|---|---|",
    ]
    for part, words in REFRESH_PARTS.items():
        lines.append(f"| {words} | {refresh[part]:.1f} | {100 * refresh[part] / refresh['whole']:.0f}% |")
    return lines


REFRESH_PARTS = {
    "transport": "solving the transport problems",
    "search": "searching the worst time",
    "decode_and_store": "drawing pairs, decoding, storing",
    "whole": "all",
}


def overhead_table(record: dict[str, Any]) -> list[str]:
    """What the loop costs each method beyond its own passes."""
    lines = [
        f"`python -m benchmarks overhead`: time of an update against its passes x a bare pass (batches of "
        f"{record['batch']}, one thread). A pass for the gradient of inputs is not a pass for that of "
        "weights; the last column prices each by its kind.",
        "",
        "| method | passes per image | of them for inputs | time, all passes alike | by kind |",
        "|---|---|---|---|---|",
    ]
    for row in record["rows"]:
        counts = [f"{row[key]:g}" for key in ("passes", "attack_passes")]
        ratios = [f"{row[key]:.2f}x" for key in ("overhead", "overhead_by_kind")]
        lines.append(f"| {' | '.join([row['method'], *counts, *ratios])} |")
    return lines


SPEED = {
    "training": speed_table,
    "augment": augment_table,
    "overhead": overhead_table,
}


def demo_table() -> list[str]:
    """The demo's certified accuracy and attack, one row per run."""
    runs = json.loads((RESULTS / "demo.json").read_text())["runs"]
    plan = next(iter(runs.values()))["certify"]
    attack = next(iter(runs.values()))["attack"]
    radii = [cell["radius"] for cell in plan["certified"]]
    lines = [
        f"`make demo`: sigma {plan['sigma']:g}, certified with mode `{plan['mode']}`, n = {plan['n']}, "
        f"{plan['images']} test images; attacked with {attack['attack']}, {attack['norm']}, "
        f"eps {attack['eps']:g}, {attack['steps']} steps. One seed; ± is half the 95% Wilson interval.",
        "",
        f"| run | updates | clean | attacked | {' | '.join(f'r = {r:g}' for r in radii)} |",
        f"|{'---|' * (4 + len(radii))}",
    ]
    return lines + [demo_row(name, run) for name, run in runs.items()]


def demo_row(name: str, run: dict[str, Any]) -> str:
    """One run of the demo as a line of the table."""
    shares = [run["attack"]["clean"], run["attack"]["robust"]]
    cells = [name, str(run["updates"]), *map(percent, shares)]
    return f"| {' | '.join([*cells, *map(percent, run['certify']['certified'])])} |"


def percent(cell: dict[str, float]) -> str:
    """A share with half its interval, in percent."""
    return f"{100 * cell['accuracy']:.1f} ± {50 * (cell['high'] - cell['low']):.1f}"


if __name__ == "__main__":
    main()
