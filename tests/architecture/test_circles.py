"""No two files and no two folders of a folder import each other."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from docs.generators.imports import arrows_between, shared_parts
from tests.architecture.checkout import ROOT, lay_out


def circles_in(root: Path) -> list[str]:
    """The circles of imports between the files and folders of one folder, type-only imports too.

    A folder's own `__init__` is its door: it may import what is behind it, and nothing behind it
    may import the door.
    """
    found = []
    folders: dict[str, dict[str, set[str]]] = {}
    for module, target in arrows_between(root):
        here, there = module.split("."), target.split(".")
        shared = shared_parts(module, target)
        if shared == len(here):
            continue
        if shared == len(there):
            if here[-1] != "__main__":
                found.append(f"{module} imports the door of its own folder")
            continue
        folder = ".".join(here[:shared])
        folders.setdefault(folder, {}).setdefault(here[shared], set()).add(there[shared])
    for folder, arrows in folders.items():
        try:
            TopologicalSorter(arrows).prepare()
        except CycleError as error:
            found.append(f"{folder}: {' imports '.join(reversed(error.args[1]))}")
    return found


def test_no_files_and_no_folders_import_each_other() -> None:
    assert circles_in(ROOT) == []


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (
            {
                "engine/x.py": "from ..stores import base",
                "stores/base.py": "from ..engine import x",
            },
            "agui_bridge: ",
        ),
        (
            {
                "engine/x.py": "if TYPE_CHECKING:\n    from . import engine",
                "engine/engine.py": "from .x import f",
            },
            "agui_bridge.engine: ",
        ),
        (
            {"engine/engine.py": "from agui_bridge import engine"},
            "agui_bridge.engine.engine imports the door of its own folder",
        ),
    ],
)
def test_a_circle_is_found(tmp_path: Path, files: dict[str, str], complaint: str) -> None:
    lay_out(tmp_path)
    for file, code in files.items():
        (tmp_path / "agui_bridge" / file).write_text(f"{code}\n")

    (found,) = circles_in(tmp_path)

    assert found.startswith(complaint)
