"""Files and folders stay small, and are named after what is in them."""

from __future__ import annotations

from collections import Counter
from typing import Final

from docs.generators.imports import modules_in
from tests.architecture.checkout import ROOT

LONGEST_FILE: Final = 500
MOST_MODULES: Final = 15


def test_no_file_outgrows_its_reader() -> None:
    paths = [*modules_in(ROOT).values()]
    for folder in ("benchmarks", "docs", "examples", "loadtest", "matrix", "tests"):
        found = (ROOT / folder).rglob("*.py")
        paths += [path for path in found if "node_modules" not in path.parts]
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in paths
    }

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_folder_has_more_doors_than_one_can_see() -> None:
    found = Counter(path.parent for path in modules_in(ROOT).values() if path.stem[0] != "_")

    assert {str(folder): n for folder, n in found.items() if n > MOST_MODULES} == {}


def test_every_file_is_named_after_its_concept() -> None:
    assert [name for name in modules_in(ROOT) if name.split(".")[-1] in {"utils", "util"}] == []
