"""What a release waits for is named, and nothing else is."""

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

SCRIPT = ROOT / ".ci" / "release_ready.py"


@pytest.fixture
def missing() -> Callable[[Path], Iterator[str]]:
    """The function of the script."""
    spec = importlib.util.spec_from_file_location("release_ready", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Path], Iterator[str]] = module.missing
    return found


def put(root: Path, name: str, old: str, new: str) -> None:
    path = root / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_each_placeholder_is_named_and_none_once_they_are_filled(
    missing: Callable[[Path], Iterator[str]], tmp_path: Path
) -> None:
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "agui_bridge").mkdir()
    shutil.copy(ROOT / "agui_bridge" / "__init__.py", tmp_path / "agui_bridge")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "adk.md").write_text('pip install ".[adk]"')

    assert [one.split()[0] for one in missing(tmp_path)] == [
        "pyproject.toml", "CHANGELOG.md", "README.md", "docs/adk.md"
    ]  # fmt: skip

    put(tmp_path, "pyproject.toml", "[tool.hatch.version]", "[project.urls]\n[tool.hatch.version]")
    put(tmp_path, "CHANGELOG.md", "## [0.1.0] - Unreleased", "## [0.1.0] - 2026-12-01")
    for page in ("README.md", "docs/adk.md"):
        put(tmp_path, page, "pip install", "see")
        (tmp_path / page).write_text((tmp_path / page).read_text().replace("PATH/TO/CHECKOUT", ""))
    assert list(missing(tmp_path)) == []
