"""The page of the frontends says what the marked tests show, and no more."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from docs.generators.frontends import CLIENTS, FEATURES, PAGE, claims_of, frontends_page
from tests.docs.pages import ROOT

CHOSEN: Final = """
import pytest

@pytest.mark.feature("terminal", "confirm")
@pytest.mark.parametrize("yes", [True, False])
def test_a_confirmation_is_a_yes_or_a_no(yes): ...

@pytest.mark.feature("playground", "confirm")
@pytest.mark.parametrize("yes", [True, False])
def test_of_another_client(yes): ...
"""


def test_the_tables_have_what_the_tests_are_marked_with() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == frontends_page(page, claims_of()), "run `make frontends`"
    assert page.count("\n| ") == len(FEATURES) + 3 + len(claims_of()) + len(CLIENTS)


def test_a_mark_names_a_client_and_features_that_the_page_has() -> None:
    claims = claims_of()

    assert {claim.client for claim in claims} == {client.name for client in CLIENTS}
    assert {claim.feature for claim in claims} == set(FEATURES)


Chosen = Callable[..., str]


@pytest.fixture
def chosen(tmp_path: Path) -> Chosen:
    """Runs tests of a copy that has two, one of each of two clients; gives the page afterwards."""
    copied = {file for client in CLIENTS for _, file in client.packages}
    copied |= {"docs/generators/frontends.py", "docs/frontends.md", "tests/frontends.py"}
    copied |= {"docs/generators/__init__.py", "tests/__init__.py"}
    for file in copied:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    for folder in ("tests/cli", "tests/e2e"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "tests" / "cli" / "test_chosen.py").write_text(CHOSEN, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = feature\n", encoding="utf-8")

    def chosen(*arguments: str, passes: bool) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.frontends", *arguments]
        alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        ran = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True)
        assert (ran.returncode == 0) == passes, ran.stdout + ran.stderr
        assert ("docs/frontends.md stays as it is" in ran.stdout) != passes
        return (tmp_path / "docs" / "frontends.md").read_text(encoding="utf-8")

    return chosen


def test_the_page_has_what_ran_of_one_client_and_keeps_nothing_else_of_it(chosen: Chosen) -> None:
    page = chosen("-k", "a_confirmation_is", passes=True)

    [(_, section)] = re.findall(r"^### (terminal)\n(.*?)^<!--", page, re.MULTILINE | re.DOTALL)
    assert section.count("::") == 1
    assert "tests/cli/test_chosen.py::test_a_confirmation_is_a_yes_or_a_no" in section


@pytest.mark.parametrize(
    "part",
    [
        ["-k", "a_confirmation_is and not False"],
        ["--deselect", "tests/cli/test_chosen.py::test_a_confirmation_is_a_yes_or_a_no[False]"],
        ["tests/cli/test_chosen.py::test_a_confirmation_is_a_yes_or_a_no[True]"],
    ],
    ids=["by a word", "without one", "by its id"],
)
def test_the_page_stays_if_only_one_parameter_of_a_test_ran(
    chosen: Chosen, part: list[str]
) -> None:
    assert chosen(*part, passes=False) == PAGE.read_text(encoding="utf-8")
