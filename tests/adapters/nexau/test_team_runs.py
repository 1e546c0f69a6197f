"""What a team's stream tells: who speaks, what was cut off, and when nobody will speak again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import BaseEvent, SubagentStartedEvent

from agui_bridge_nexau.team_runs import TeamRuns

Told = tuple[str, dict[str, Any]]


def runs_of(*told: Told) -> tuple[TeamRuns, list[BaseEvent]]:
    ids = (f"id-{n}" for n in itertools.count(1))
    runs = TeamRuns(lambda: next(ids), lambda native: native or next(ids))
    events: list[BaseEvent] = []
    for agent, event in [("leader", {"type": "USER_MESSAGE"}), *told]:
        envelope = {"agent_id": agent, "event": event}
        events += runs.take({"type": "team_event", "envelope": envelope})
    return runs, events


def begins(agent: str, run: str = "r") -> Told:
    return agent, {"type": "RUN_STARTED", "run_id": run, "root_run_id": run}


def ends(agent: str, run: str = "r") -> Told:
    return agent, {"type": "RUN_FINISHED", "run_id": run}


def calls(agent: str, call: str, name: str) -> Sequence[Told]:
    named = {"tool_call_id": call, "tool_call_name": name}
    return [
        (agent, {"type": "TEXT_MESSAGE_START", "message_id": f"m-{call}", "run_id": "r"}),
        (agent, {"type": "TOOL_CALL_START", "parent_message_id": f"m-{call}", **named}),
        (agent, {"type": "TOOL_CALL_END", "tool_call_id": call}),
    ]


def stops(agent: str, call: str) -> Told:
    return agent, {
        "type": "TOOL_CALL_RESULT",
        "tool_call_id": call,
        "content": '{"_is_stop_tool": true}',
    }


def says(agent: str) -> Sequence[Told]:
    named = {"message_id": "m", "run_id": "r"}
    return [
        (agent, {"type": "TEXT_MESSAGE_START", **named}),
        (agent, {"type": "TEXT_MESSAGE_CONTENT", "delta": "words", **named}),
        (agent, {"type": "TEXT_MESSAGE_END", **named}),
        (agent, {"type": "USAGE_UPDATE", "run_id": "r", "usage": {"input_tokens": 1}}),
    ]


def hears(agent: str, by: str) -> Told:
    return agent, {"type": "TEAM_MESSAGE", "from_agent_id": by, "to_agent_id": agent}


LEADER, MATE = begins("leader"), begins("w-1", "w")
ASKS = [*calls("leader", "c1", "ask_user"), stops("leader", "c1")]
MATE_ASKS = [*calls("w-1", "c2", "ask_user"), stops("w-1", "c2")]


@pytest.mark.parametrize(
    ("told", "asking", "rests"),
    [
        ([LEADER, *ASKS], [None], True),
        ([LEADER, *ASKS, hears("leader", "w-1")], [None], False),
        ([LEADER, *ASKS, *says("leader")], [], False),
        ([LEADER, MATE, *MATE_ASKS, *says("leader")], ["w-1"], True),
        ([LEADER, MATE, *MATE_ASKS, hears("leader", "w-1")], ["w-1"], False),
        ([LEADER, MATE, *MATE_ASKS, ends("w-1", "w"), *says("leader")], ["w-1"], True),
        (
            [
                LEADER,
                MATE,
                *MATE_ASKS,
                *calls("leader", "c3", "finish_team"),
                stops("leader", "c3"),
            ],
            [],
            False,
        ),
        ([LEADER, MATE, *says("leader")], [], False),
        ([LEADER, MATE, hears("leader", "watchdog"), *says("leader")], [], True),
        ([LEADER, MATE, ends("w-1", "w"), *says("leader")], [], True),
        ([LEADER, *says("leader")], [], False),
        ([LEADER, *calls("leader", "c4", "work"), *says("leader")], [], False),
    ],
)
def test_a_team_rests_when_somebody_asks_or_nobody_will_speak(
    told: Sequence[Told], asking: Sequence[str | None], rests: bool
) -> None:
    runs, _ = runs_of(*told)
    assert [name for _, name, _ in runs.asks] == asking
    # A leader without teammates is made to go on.
    mates = ["w-1"] if MATE in told else []
    assert (runs.waits and runs.rests(mates)) == rests


def test_a_teammate_that_nothing_was_heard_of_may_yet_speak() -> None:
    runs, _ = runs_of(LEADER, MATE, ends("w-1", "w"), *says("leader"))
    assert not runs.rests(["w-1", "t-1"])


@pytest.mark.parametrize(
    ("told", "whole"),
    [
        ([LEADER, ends("leader")], True),
        ([LEADER, MATE, ends("w-1", "w"), ends("leader")], True),
        ([LEADER, MATE, ends("leader")], False),
        ([LEADER, MATE, *calls("w-1", "c5", "work"), ends("w-1", "w"), ends("leader")], False),
    ],
)
def test_what_was_cut_off_is_known(told: Sequence[Told], whole: bool) -> None:
    assert runs_of(*told)[0].whole == whole


def test_a_teammate_speaks_under_its_name_in_each_of_its_runs() -> None:
    failed = "w-1", {"type": "RUN_ERROR", "run_id": "w-1", "message": "secret"}
    again = [begins("w-1", "w2"), *says("w-1"), ends("w-1", "w2")]
    runs, events = runs_of(LEADER, MATE, *says("w-1"), failed, *again, *says("leader"))
    told = [(e.type.value, getattr(e, "subagent_run_id", None)) for e in events]
    text = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    first, second = (e.subagent_run_id for e in events if isinstance(e, SubagentStartedEvent))
    assert told == [
        ("SUBAGENT_STARTED", first),
        *((kind, first) for kind in text),
        ("SUBAGENT_ERROR", first),
        ("SUBAGENT_STARTED", second),
        *((kind, second) for kind in text),
        ("SUBAGENT_FINISHED", second),
        *((kind, None) for kind in text),
    ]
    assert "secret" not in str(events)
    assert runs.usage_entries() == [{"input_tokens": 3} | _ZEROS]
    # The team has not ended before all of it has.
    runs.take(
        {"type": "team_event", "envelope": {"agent_id": "leader", "event": ends("leader")[1]}}
    )
    assert not runs.own.finished
    runs.take({"type": "complete"})
    assert runs.own.finished


_ZEROS = dict.fromkeys(
    (
        "output_tokens",
        "total_tokens",
        "reasoning_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
    ),
    0,
)
