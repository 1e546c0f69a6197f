"""Writes docs/frontends.md from the tests that ran: `python -m pytest -p tests.frontends`.

A client none of whose tests ran keeps what the page says of it. The page stays as it is, and the
run fails, if a marked test of another client didn't run, was skipped or failed, also with one of
its parameters only, or if what is installed of that client has another version than the page would
say.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from docs.generators.frontends import (
    CLIENTS,
    PAGE,
    ROOT,
    Claim,
    claims_of,
    fixed_version,
    frontends_page,
    shown_by,
    versions_of,
)

ENVIRONMENTS: Final = ROOT / ".venv-matrix"
PEERS: Final = ROOT / "tests" / "servers" / "peers"
"""Where each list of packages there has an environment of its own."""

_claims: Final[dict[str, frozenset[Claim]]] = {}
_passed: Final[dict[str, bool]] = {}
_left_out: Final[dict[str, frozenset[Claim]]] = {}
"""Those that were collected, and not selected: one parameter of a test may be among them."""


# What was not selected is gone by then.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note what each test is to show."""
    _claims.update((item.nodeid, _claims_of(item)) for item in items)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Note what was not selected."""
    _left_out.update((item.nodeid, _claims_of(item)) for item in items)


def _claims_of(item: pytest.Item) -> frozenset[Claim]:
    return frozenset(
        Claim(mark.args[0], feature, _path(item.path), item.originalname)
        for mark in item.iter_markers("feature")
        for feature in mark.args[1:]
        if isinstance(item, pytest.Function)
    )


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how each of its phases ended."""
    _passed[report.nodeid] = _passed.get(report.nodeid, True) and report.passed


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the page, or say what has not been shown."""
    page = PAGE.read_text(encoding="utf-8")
    seen = frozenset(claim for claims in _claims.values() for claim in claims)
    ran = {claim.client for claim in seen}
    marked = claims_of()
    not_run = {claim for claim in marked - seen if claim.client in ran}
    lacking = {f"{claim.path}::{claim.test} did not run" for claim in not_run}
    lacking |= {
        f"{test} did not run"
        for test, claims in _left_out.items()
        if not ran.isdisjoint(claim.client for claim in claims)
    }
    # Parameters that an id leaves out are not even collected.
    lacking |= {f"{given} is not a whole test" for given in session.config.args if "[" in given}
    marked_here = [test for test, claims in _claims.items() if claims]
    lacking |= {f"{test} did not pass" for test in marked_here if not _passed.get(test)}
    lacking |= {
        f"{client.name} has another version, and none of its tests ran"
        for client in CLIENTS
        if client.name not in ran and f" {versions_of(client)} |" not in page
    }
    lacking |= {
        f"{package} {installed} is installed, and {file} says {fixed_version(package, file)[1]}"
        for client in CLIENTS
        for package, file in client.packages
        if client.name in ran
        and (installed := _installed(package, ROOT / file)) != fixed_version(package, file)[1]
    }
    if lacking:
        print("", "docs/frontends.md stays as it is:", *sorted(lacking), sep="\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return
    kept = {claim for claim in shown_by(page) & marked if claim.client not in ran}
    PAGE.write_text(frontends_page(page, seen | kept), encoding="utf-8")


def _installed(package: str, file: Path) -> str:
    """The version of a package that the tests ran with, by the file that fixes it."""
    if file.suffix == ".json":
        manifest = file.parent / "node_modules" / package / "package.json"
        return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
    folders = sys.path
    if file.parent == PEERS:
        folders = [str(p) for p in (ENVIRONMENTS / file.stem).glob("lib/python*/site-packages")]
    [found] = importlib.metadata.distributions(name=package, path=folders)
    return found.version


def _path(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
