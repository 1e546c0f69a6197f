"""Where a message or a list has a button that approves, all that would run can be read there."""

from __future__ import annotations

import json
import random
import string
from typing import Any

import pytest

from agui_bridge.channels.notice import shows_call
from agui_bridge.channels.slack.blocks import notice_blocks
from agui_bridge.http.inbox.telling.words import name_text, value_text
from agui_bridge.http.inbox.views import view_of
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.protocol.threads.records import AuditEntry, InterruptStatus, Principal, ToolCall
from agui_bridge.stores.base import InterruptRow
from agui_bridge.text.visible import visible
from tests.channels.bridges import KEY, notice
from tests.e2e.browser.arguments import NAMES, PAIRS, seen

LETTERS = string.ascii_letters + string.digits + " äß漢\n\t\u202e\u200b\u0301😀"


def some_text(luck: random.Random, most: int) -> str:
    return "".join(luck.choices(LETTERS, k=luck.randrange(most)))


def some_value(luck: random.Random, depth: int = 0) -> Any:
    if depth < 4 and luck.random() < 0.3:
        if luck.random() < 0.5:
            return [some_value(luck, depth + 1) for _ in range(luck.randrange(4))]
        return some_args(luck, depth + 1, 4)
    odd = luck.choice(["5", "null", "true", "[1]", '"x"', "", " x", "{}", "1e5", "-0"])
    number = luck.choice([luck.randrange(10**9), luck.random()])
    return luck.choice([None, True, number, some_text(luck, 200), "x", odd])


def some_args(luck: random.Random, depth: int = 0, most: int = 8) -> dict[str, Any]:
    count = luck.choice([1, 2, luck.randrange(most), 200 if depth == 0 and most > 7 else 2])
    return {f"{some_text(luck, 9)}{n}": some_value(luck, depth) for n in range(count)}


@pytest.fixture(params=range(200))
def call(request: pytest.FixtureRequest) -> ToolCall:
    """A call with arguments that nobody has chosen: deep, long, many, with invisible characters."""
    luck = random.Random(request.param)
    length = luck.choice([0, 0, 0, 2990, 3500, 30_000])
    args = some_args(luck, most=luck.choice([3, 8]))
    if length:
        args["note"] = "n" * length
    return ToolCall("c", "pay" * luck.choice([1, 1, 60]), args)


def read(text: str) -> Any:
    """The value that a list shows, as people read it."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_name(name: str) -> str:
    return str(json.loads(name)) if name.startswith('"') else name


def actions(blocks: list[dict[str, Any]]) -> list[str]:
    """What the buttons of a message do."""
    return [e["action_id"] for b in blocks if b["type"] == "actions" for e in b["elements"]]


def test_slack_approves_only_beside_the_whole_call(call: ToolCall) -> None:
    asked = notice(tool_call=call, message="Pay 5 to bob?")
    blocks = notice_blocks(asked, show_args=True)
    texts = [block["text"]["text"] for block in blocks if "text" in block]
    whole = visible(json.dumps(dict(call.args), ensure_ascii=False, indent=2))
    shown = whole in texts and f"Approve {call.name}?" in texts
    assert (APPROVE in actions(blocks)) is shown
    if shown and whole == json.dumps(dict(call.args), ensure_ascii=False, indent=2):
        assert any(json.loads(text) == dict(call.args) for text in texts if text == whole)
    # What would not run needs no reading, and the page has all of it.
    assert {DECLINE, "open"} <= set(actions(blocks))


def test_slack_approves_nothing_whose_arguments_are_not_to_be_shown(call: ToolCall) -> None:
    blocks = notice_blocks(notice(tool_call=call))
    assert APPROVE not in actions(blocks)
    assert {DECLINE, "open"} <= set(actions(blocks))


def test_a_list_approves_only_what_it_shows_whole(call: ToolCall) -> None:
    opened = AuditEntry(InterruptStatus.OPEN, 1.0, "agent")
    ask = notice(tool_call=call, audit=(opened,)).ask
    view = view_of(
        InterruptRow(KEY, ask, 1.0), "ref", Principal("default", "ann"), 2.0, [KEY.agent]
    )
    shown = {argument.name: argument.short for argument in view.listed}
    whole = shown == {name_text(name): value_text(value) for name, value in call.args.items()}
    assert view.may_tick is whole
    if whole:
        told = {read_name(name): read(text) for name, text in shown.items()}
        assert told == dict(call.args)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: repr(pair)[:60])
def test_values_that_differ_are_told_apart_where_they_are_approved(pair: tuple[Any, Any]) -> None:
    one, other = (seen(visible(value_text(value))) for value in pair)
    assert one != other


@pytest.mark.parametrize("pair", NAMES, ids=lambda pair: repr(pair)[:60])
def test_names_that_differ_are_told_apart_where_they_are_approved(pair: tuple[Any, Any]) -> None:
    one, other = (
        [(" ".join(seen(visible(name_text(name))).split()), it) for name, it in args.items()]
        for args in pair
    )
    assert one != other


def test_there_are_calls_of_both_kinds() -> None:
    small, large = ToolCall("c", "pay", {"to": "bob"}), ToolCall("c", "pay", {"to": "b" * 3000})
    room = {"title": 150, "text": 3000}
    assert [shows_call(it, **room) for it in (small, large)] == [True, False]
    assert not shows_call(ToolCall("c", "pay" * 50, {}), **room)


def test_the_inbox_shows_an_argument_whatever_its_name() -> None:
    args = {"to": "bob", "agui_bridge": "attacker"}
    opened = AuditEntry(InterruptStatus.OPEN, 1.0, "agent")
    ask = notice(tool_call=ToolCall("c", "pay", args), audit=(opened,)).ask
    view = view_of(
        InterruptRow(KEY, ask, 1.0), "ref", Principal("default", "ann"), 2.0, [KEY.agent]
    )
    assert {argument.name: argument.text for argument in view.arguments} == args
