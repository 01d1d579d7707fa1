"""``python -m benchmarks [NAME ...]``: all benchmarks, or those named; each writes results/NAME.json."""

from __future__ import annotations

import importlib
import sys

from wassermix.core.openmp import let_idle_threads_sleep

NAMES = ("training", "transport", "certify", "augment", "overhead", "update", "ranks", "speed")


def main() -> None:
    chosen = sys.argv[1:] or NAMES
    for name in chosen:
        if name not in NAMES:
            sys.exit(f"benchmark '{name}' is unknown; expected one of {', '.join(NAMES)}")
    let_idle_threads_sleep()  # as the command line does
    sys.argv = sys.argv[:1]  # each benchmark reads its own options, none by default
    for name in chosen:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
