"""Say how much of what a user imports has a type, and fail below a limit.

pyright counts every name of a package as someone sees it who has installed it: `make types`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
LOWEST: Final = 98.0
"""Percent of the names. What lacks is inferred, and other checkers may infer otherwise."""


def judged(package: str) -> Mapping[str, Any]:
    """What pyright says of a package.

    Raises:
        SystemExit: it could not look at the package.
    """
    scripts = Path(sys.executable).parent
    # It asks the first `python` of the path where packages are.
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    command = [
        str(scripts / "pyright"),
        "--verifytypes",
        package,
        "--ignoreexternal",
        "--outputjson",
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    try:
        found: Mapping[str, Any] = json.loads(run.stdout)["typeCompleteness"]
    except ValueError:
        sys.exit(f"types: pyright failed: {run.stdout}{run.stderr}")
    return found


def lacks_of(found: Mapping[str, Any]) -> Iterator[str]:
    """Where the type of a name is unknown or inferred."""
    for symbol in found["symbols"]:
        if symbol["isExported"] and not (symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]):
            for lack in symbol["diagnostics"]:
                line = lack.get("range", {}).get("start", {}).get("line", 0) + 1
                yield f"{lack['file']}:{line}: {symbol['name']}: {lack['message']}"


def main() -> None:
    """Judge the package and the adapter packages."""
    scores = {}
    for package in ("agui_bridge", *sorted(path.name for path in ROOT.glob("adapters/agui_*"))):
        found = judged(package)
        scores[package] = found["completenessScore"] * 100
        if scores[package] < LOWEST:
            print(*lacks_of(found), sep="\n")
    print("types: " + ", ".join(f"{name} {score:.1f} %" for name, score in scores.items()))
    if min(scores.values()) < LOWEST:
        sys.exit(f"types: each package needs {LOWEST:g} %")


if __name__ == "__main__":
    main()
