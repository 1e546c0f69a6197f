"""What differs is shown differently, and nothing approves what a place does not show whole."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.channels.slack import notice_blocks, view
from agui_bridge.http.inbox.question import QuestionView, view_of
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    InterruptStatus,
    Principal,
    RecordedAnswer,
    ToolCall,
    Vote,
)
from agui_bridge.stores.base import InterruptRow
from agui_bridge.text.visible import visible_value, visible_word
from tests.channels.bridges import KEY, notice
from tests.e2e.browser.arguments import NAMES, PAIRS, seen


def looked_at(args: dict[str, Any], **fields: Any) -> QuestionView:
    opened = AuditEntry(InterruptStatus.OPEN, 1.0, "agent")
    ask = notice(tool_call=ToolCall("c", "pay", args), audit=(opened,), **fields).ask
    row = InterruptRow(KEY, ask, 1.0)
    return view_of(row, "ref", Principal("default", "ann"), 2.0, [KEY.agent])


def buttons(blocks: list[dict[str, Any]]) -> list[str]:
    """What the buttons of a message do."""
    return [e["action_id"] for b in blocks if b["type"] == "actions" for e in b["elements"]]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: repr(pair)[:60])
def test_values_that_differ_are_told_apart_where_they_are_approved(pair: tuple[Any, Any]) -> None:
    one, other = (seen(visible_value(value)) for value in pair)
    assert one != other


@pytest.mark.parametrize("pair", NAMES, ids=lambda pair: repr(pair)[:60])
def test_names_that_differ_are_told_apart_where_they_are_approved(pair: tuple[Any, Any]) -> None:
    one, other = (
        [(" ".join(seen(visible_word(name)).split()), it) for name, it in args.items()]
        for args in pair
    )
    assert one != other


EDITED = Vote(
    "bob", frozenset(), RecordedAnswer("resolved", {"approved": True, "editedArgs": {}}), "d", 1.0
)

CALLS: dict[str, tuple[dict[str, Any], bool]] = {
    "a small call": ({}, True),
    "a long name of a tool": ({"tool_call": ToolCall("c", "pay" * 60, {})}, False),
    "long arguments": ({"tool_call": ToolCall("c", "pay", {"to": "b" * 3000})}, False),
    "a long name of who asks": ({"asked_by": "b" * 400}, False),
    "arguments that somebody has changed": ({"votes": (EDITED,)}, False),
}


@pytest.mark.parametrize(("fields", "whole"), CALLS.values(), ids=CALLS)
def test_slack_approves_only_what_it_shows_whole(fields: dict[str, Any], whole: bool) -> None:
    pressed = buttons(notice_blocks(notice(**fields), show_args=True))
    assert (APPROVE in pressed) is whole
    assert {DECLINE, "open"} <= set(pressed)
    assert APPROVE not in buttons(notice_blocks(notice(**fields)))


@pytest.mark.parametrize("permits", [True, False])
def test_slack_takes_no_answer_that_lets_run_what_nothing_says_is_shown(permits: bool) -> None:
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    asked = notice(tool_call=None, response_schema=schema, permits=permits, allowed=())
    assert ("answer" in buttons(notice_blocks(asked, show_args=True))) is not permits
    assert (view(asked.ask, "answer", "ref") is None) is permits


def test_the_inbox_shows_an_argument_whatever_its_name_and_nothing_else_as_one() -> None:
    args = {"to": "bob", "agui_bridge": "attacker"}
    told = {it.name: it.text for it in looked_at(args, metadata={"to": "eve"}).arguments}
    assert told == args
    assert looked_at({}, metadata={"to": "eve"}).arguments == []


def test_a_list_ticks_nothing_whose_arguments_somebody_has_changed() -> None:
    assert looked_at({"to": "bob"}).may_tick
    assert not looked_at({"to": "bob"}, votes=(EDITED,)).may_tick
