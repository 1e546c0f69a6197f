"""What the pages about frontends print compiles as it stands, by each example's own compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, snippets_of
from tests.e2e.browser.site import ASSISTANT_UI, COPILOTKIT, TANSTACK_AI, TDESIGN
from tests.support import unavailable


@pytest.mark.parametrize(
    ("name", "language", "example"),
    [
        ("assistant-ui.md", "tsx", ASSISTANT_UI),
        ("copilotkit.md", "tsx", COPILOTKIT),
        ("tanstack-ai.md", "tsx", TANSTACK_AI),
        ("vue.md", "ts", TDESIGN),
    ],
)
def test_each_snippet_of_a_page_is_a_module_that_compiles(
    tmp_path: Path, name: str, language: str, example: Path
) -> None:
    if not (example / "node_modules" / ".bin" / "tsc").exists():
        unavailable(f"{example.name}/node_modules", "`make e2e` installs it, or npm ci does there")
    snippets = snippets_of(ROOT / "docs" / name, language)
    assert snippets
    # Snippets may import the example's files.
    shutil.copytree(example / "src", tmp_path / "src")
    (tmp_path / "node_modules").symlink_to(example / "node_modules")
    for line, code in snippets:
        (tmp_path / "src" / f"line{line}.{language}").write_text(code, encoding="utf-8")
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings(example)), encoding="utf-8")

    compiler = tmp_path / "node_modules" / ".bin" / "tsc"
    done = subprocess.run([compiler], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, f"docs/{name}:\n{done.stdout}"


def settings(example: Path) -> dict[str, Any]:
    """The example's own settings of the compiler, for another folder."""
    given = json.loads((example / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]
    assert given["strict"] and given["noEmit"]
    paths = {
        imported: [str((example / place).resolve()) for place in places]
        for imported, places in given.get("paths", {}).items()
    }
    # A snippet may end with what a page is to use.
    compiler = {**given, "paths": paths, "noUnusedLocals": False, "moduleDetection": "force"}
    # Of the example, only what they import and what its compiler is told.
    return {"compilerOptions": compiler, "include": ["src/line*", "src/*.d.ts"]}
