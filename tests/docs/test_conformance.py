"""docs/conformance.md: its files are valid, its options are those of the command."""

from __future__ import annotations

import re
from pathlib import Path

from agui_bridge.cli.commands.conformance import conformance
from agui_bridge.conformance import load
from agui_bridge.conformance.config import Answers, Config, Prompts
from tests.docs.pages import ROOT, snippets_of

PAGE = ROOT / "docs" / "conformance.md"


def test_the_configurations_of_the_page_are_read_as_they_stand(tmp_path: Path) -> None:
    read = []
    for number, (_, text) in enumerate(snippets_of(PAGE, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        read.append(load(path))

    assert [config.name for config in read] == ["my agent", "my agent"]
    assert read[0].server is not None
    assert read[0].server.ready is None


def test_the_page_names_every_option_of_the_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    options = {name for option in conformance.params for name in option.opts if name[:2] == "--"}

    assert {name for name in options if name not in text} == set()
    named = set(re.findall(r"^\| `(--[a-z]+)", text, re.MULTILINE))
    assert named <= options


def test_every_key_is_on_the_page_or_where_it_refers_to() -> None:
    for model in (Config, Prompts, Answers):
        documented = model.__doc__ or ""
        assert {key for key in model.model_fields if f"{key}:" not in documented} == set()
