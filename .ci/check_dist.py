"""Check that wheel and sdist say who made them, under which licence, and carry all that they need."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

NEEDED = ("Name", "Version", "Summary", "Author", "License-Expression", "Requires-Python", "Description")
FILES = (
    "wassermix/py.typed",
    "wassermix/recipes/demo.yaml",
    "wassermix/experiments/tables/table-1.yaml",
    "wassermix/report/page.html",
    "wassermix/report/page.css",
    "wassermix/report/page.js",
)


def main(folder: Path) -> None:
    """Refuse a distribution that lacks anything."""
    (wheel,), (sdist,) = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (home,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = Parser().parsestr(archive.read(home).decode())
    lacking = [f"metadata {key}" for key in NEEDED if not (said.get(key) or said.get_payload())]
    lacking += [f"file {name}" for name in FILES if name not in names]
    lacking += [] if any(name.endswith("licenses/LICENSE") for name in names) else ["the licence file"]
    lacking += [] if said.get_all("Project-URL") else ["project URLs"]
    wanted = ("Programming Language :: Python :: 3.11", "Typing :: Typed")
    lacking += [f"classifier {one}" for one in wanted if one not in (said.get_all("Classifier") or [])]
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    lacking += [f"{name} in the sdist" for name in ("README.md", "CITATION.cff") if name not in inside]
    if lacking:
        sys.exit("the distribution lacks " + ", ".join(lacking))
    print(f"{wheel.name}: {len(names)} files, metadata complete")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
