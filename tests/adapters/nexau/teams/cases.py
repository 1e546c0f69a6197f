"""What a team does, and what must become of it: on a real NexAU, and on a recording of one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.adapters.nexau.real.model import HOLD, Delta, call, text

__all__ = ["CASES", "Case"]

Steps = Sequence[Sequence[Delta]]


def _uses(call_id: str, name: str, **arguments: Any) -> Delta:
    return call(call_id, name, json.dumps(arguments))


def _message(call_id: str, to: str, content: str) -> Delta:
    return _uses(call_id, "message", to_agent_id=to, content=content)


def _asks(call_id: str) -> Delta:
    return _uses(call_id, "ask_user", questions=[{"question": "Which colour?", "type": "text"}])


def _finish(call_id: str, words: str) -> Sequence[Delta]:
    return [text(words), _uses(call_id, "finish_team", summary="fine")]


def _with_writer(*then: Sequence[Delta]) -> Steps:
    return (
        [text("I ask a writer. "), _uses("c1", "spawn_teammate", role_name="writer")],
        [_message("c2", "writer-1", "write")],
        *then,
    )


WRITE = "[Team Message from leader]: write"
TEST = "[Team Message from leader]: test"
ANSWER = "writer-1 asked the user:\nWhich colour?\nThe user's answer, for writer-1:\nblue"
WAITING = [text("Waiting. ")]


@dataclass(frozen=True)
class Case:
    """A conversation with a team.

    Attributes:
        name: of the recording.
        scripts: what the model says, by the last user message.
        says: the user's messages; one is the answer, where the team asks.
        lets: text of the stream that lets the model of a user message go on.
        stop: how the first run is stopped, None if it is not.
        stop_at: text of the stream at which it is.
        cut: text of the wire at which the first stream breaks.
        taken: whether somebody else runs a team in the session.
        outcomes: how the runs end.
        sent: the session and the message of each stream.
        asked_by: who asked, by a name; None for the leader.
        stops: whether NexAU was told to stop.
    """

    name: str
    scripts: Mapping[str, Steps]
    says: Sequence[str]
    outcomes: Sequence[str]
    sent: Sequence[tuple[str, str]]
    lets: Mapping[str, str] = field(default_factory=dict)
    stop: str | None = None
    stop_at: str = ""
    cut: str = ""
    taken: bool = False
    asked_by: str | None = None
    stops: bool = False


CASES: Sequence[Case] = (
    Case(
        "two_teammates",
        {
            "go": [
                [text("I ask two. "), _uses("c1", "spawn_teammate", role_name="writer")],
                [_uses("c2", "spawn_teammate", role_name="tester")],
                [_message("c3", "writer-1", "write")],
                [_message("c4", "tester-1", "test")],
                WAITING,
            ],
            WRITE: [
                [HOLD, _uses("w1", "work", job="case")],
                [text("I wrote. "), _message("w2", "leader", "written")],
                [text("bye")],
            ],
            TEST: [[HOLD, text("I tested. "), _message("t1", "leader", "tested")], [text("bye")]],
            "[Team Message from writer-1]: written": [[text("Thanks. ")]],
            "[Team Message from tester-1]: tested": [_finish("c5", "All done. ")],
            "again": [_finish("c6", "Hello again. ")],
        },
        ["go", "again"],
        ["success", "success"],
        [("case", "go"), ("case", "again")],
        lets={"Waiting. ": WRITE, "Thanks. ": TEST},
    ),
    Case(
        "leader_asks",
        {"go": [[text("Well. "), _asks("c1")]], "blue": [_finish("c2", "Blue it is. ")]},
        ["go", "blue"],
        ["interrupt", "success"],
        [("case", "go"), ("case", "blue")],
        stops=True,
    ),
    Case(
        "teammate_asks",
        {
            "go": _with_writer(WAITING),
            WRITE: [[text("Hm. "), _asks("w1")]],
            ANSWER: [_finish("c3", "Blue it is. ")],
        },
        ["go", "blue"],
        ["interrupt", "success"],
        [("case", "go"), ("case~", ANSWER)],
        asked_by="writer-1",
        stops=True,
    ),
    Case(
        "nobody_is_told_anything",
        {"go": [[_uses("c1", "spawn_teammate", role_name="writer")], WAITING]},
        ["go"],
        ["success"],
        [("case", "go")],
        stops=True,
    ),
    Case(
        "nobody_has_anything_to_do",
        {"go": _with_writer(WAITING), WRITE: [[text("Written. ")]]},
        ["go"],
        ["success"],
        [("case", "go")],
        stops=True,
    ),
    *(
        Case(
            f"stopped_{how}_while_a_teammate_works",
            {
                "go": _with_writer(WAITING),
                WRITE: [[text("I write. "), HOLD]],
                "next": [_finish("c3", "Hello. ")],
            },
            ["go", "next"],
            ["cancelled", "success"],
            [("case", "go"), ("case~", "next")],
            stop=how,
            stop_at="I write. ",
            stops=True,
        )
        for how in ("gracefully", "forced")
    ),
    Case(
        "stopped_forced_while_the_leader_speaks",
        {"go": [[text("One. "), HOLD, text("two")]], "next": [_finish("c3", "Hello. ")]},
        ["go", "next"],
        ["cancelled", "success"],
        [("case", "go"), ("case~", "next")],
        stop="forced",
        stop_at="One. ",
        stops=True,
    ),
    Case(
        "broken_off",
        {
            "go": [[text("One. "), HOLD, text("two")]],
            "next": [_finish("c3", "Hello. ")],
        },
        ["go", "next"],
        ["UPSTREAM_ERROR", "success"],
        [("case", "go"), ("case~", "next")],
        cut="One. ",
        stops=True,
    ),
    Case(
        "somebody_elses_runs",
        {
            "theirs": [[text("Theirs. "), HOLD]],
            "go": [_finish("c3", "Hello. ")],
        },
        ["go"],
        ["success"],
        [("case~", "go")],
        taken=True,
    ),
)
