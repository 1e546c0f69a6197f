"""The configuration: what it must say, what it may leave out, and what it is told when wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from agui_bridge.conformance import load
from agui_bridge.errors import ConfigurationError
from tests.docs.pages import snippets_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "checks.toml"


EXAMPLES = {*(ROOT / "examples").rglob("*.toml")} - {*(ROOT / "examples").rglob("pyproject.toml")}


@pytest.mark.parametrize("path", sorted(EXAMPLES), ids=lambda p: p.name)
def test_the_examples_are_right(path: Path) -> None:
    assert load(path).prompts.approval


def test_the_page_is_right(file: Path) -> None:
    for _, text in snippets_of(ROOT / "docs" / "conformance.md", "toml"):
        file.write_text(text)
        assert load(file).url


def test_a_prompt_is_enough(file: Path) -> None:
    file.write_text('[prompts]\napproval = "send {marker}"')

    config = load(file)

    assert config.lacks("approval") is None
    assert config.lacks("parallel") == "prompts.parallel"
    assert config.lacks("executions") == "executions"


def test_a_variable_of_the_environment_is_filled_in(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('headers = {A = "Bearer ${KIT_TOKEN}"}\n[prompts]\napproval = "x"')
    monkeypatch.setenv("KIT_TOKEN", "secret")

    assert load(file).headers == {"A": "Bearer secret"}

    monkeypatch.delenv("KIT_TOKEN")
    with pytest.raises(ConfigurationError, match="variable KIT_TOKEN, which is not set"):
        load(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[prompts", "is no TOML"),
        ("", r"checks\.toml: prompts: is missing\."),
        ('[prompts]\napproval = "x"\naproval = "y"', "prompts.aproval: unknown key; did you"),
        ('races = 0\n[prompts]\napproval = "x"', "races: must be at least 1"),
        ('profiles = ["2.0"]\n[prompts]\napproval = "x"', "profiles.0: must be one of"),
        ('[prompts]\napproval = "x"\n[executions]', "executions: .*one of file, url and command"),
    ],
)
def test_what_is_wrong_is_named(file: Path, text: str, told: str) -> None:
    file.write_text(text)

    with pytest.raises(ConfigurationError, match=told):
        load(file)


def test_a_missing_file_is_named(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"checks\.toml can't be read: No such file"):
        load(file)
