"""docs/inbox.md does what it says."""

from __future__ import annotations

import typing

import pytest

from agui_bridge import Principal
from agui_bridge.config import bridge_from
from agui_bridge.errors import CODES
from agui_bridge.inbox.answering import AnswerStatus
from tests.docs.pages import ROOT, run_page, snippets_of
from tests.inbox.office import Office

PAGE = ROOT / "docs" / "inbox.md"


async def test_a_program_finds_and_answers_what_waits_for_somebody() -> None:
    page = await run_page(PAGE)
    office = Office()
    await office.ask()
    assert await page["approve_payments"](office.bridge) == ["answered"]
    rest = await office.bridge.pending(Principal("team", "bob"))
    assert [row.row.interrupt.tool for row in rest.rows] == ["post"]
    assert page["bridge"].references.signed


async def test_a_link_of_the_page_has_its_persons_roles() -> None:
    page = await run_page(PAGE)
    bob = Principal("team", "bob", roles=frozenset({"treasurer"}))
    (asked, _) = await Office().ask()
    link = page["link_for"](bob, asked)
    read = page["bridge"].references.read(link.removeprefix("https://agents.example/d/"))
    assert (read.holder, read.interrupt) == (bob, asked.interrupt)


def test_the_page_names_every_outcome_and_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    outcomes = set(typing.get_args(AnswerStatus)) - {"open"}
    assert [word for word in outcomes if f"`{word}`" not in text] == []
    for code in ("INVALID_REFERENCE", "REFERENCE_EXPIRED", "INTERRUPT_NOT_FOUND", "FORBIDDEN"):
        assert f"| `{code}` ({CODES[code].status}) |" in text


def test_the_file_of_the_page_is_one(tmp_path: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INBOX_KEY", "a new key of sixteen bytes")
    monkeypatch.setenv("OLD_INBOX_KEY", "an old key of sixteen bytes")
    ((_, text),) = snippets_of(PAGE, "yaml")
    (tmp_path / "agents_of_the_inbox_page.py").write_text("async def one(run):\n    yield 'x'\n")
    file = tmp_path / "bridge.yaml"
    file.write_text(text + "agents: {one: {function: agents_of_the_inbox_page:one}}\n")
    inbox = bridge_from(file).inbox
    assert (inbox.url, inbox.link_ttl, len(inbox.keys)) == ("https://agents.example", 604800, 2)
