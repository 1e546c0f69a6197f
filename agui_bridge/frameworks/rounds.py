"""The calls of one run whose tools ask in their middle: what each asked, and its next round.

A tool of a framework that returns `NeedsInput` has begun. Its call is left without a result, people
are asked, and in the run with their answers the framework carries the same call out once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from agui_bridge.adapters import Run
from agui_bridge.errors import AgentMistake
from agui_bridge.frameworks.needs_input import MAX_ROUNDS, Answered, NeedsInput
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.answers.unexecuted import ASKED_TOO_OFTEN
from agui_bridge.protocol.threads.records import Json
from agui_bridge.tool_gate import GoingOn, ToolGate

NOWHERE: Final = "The tool {!r} returned NeedsInput where nobody can be asked in its middle."
LOST: Final = (
    "The tool {!r} made a NeedsInput, and what came back is not that one. Return it as it is, and "
    "make none that you don't return."
)
TWO_WAYS: Final = (
    "The tool {!r} asks by NeedsInput and in the framework's own way, too, in one call. Ask one "
    "way in a tool."
)
"""Why a run fails whose tool asks."""


def refused(tool: str, gate: ToolGate, why: str = NOWHERE) -> AgentMistake:
    """Have the run fail, since a tool asked where nobody can be asked in a call's middle.

    Args:
        tool: its name.
        gate: what has let it through.
        why: one of the sentences above.

    Returns:
        What the run fails with.
    """
    mistake = AgentMistake(why.format(tool))
    gate.fail(mistake)
    return mistake


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one call has asked.

    Attributes:
        args: what it began with.
        approvers: everybody who had approved it.
        round: how often it has asked.
        state: what its tool noted for the next round.
        asks: the tool's own names of the questions, by native id.
        edited: whether who approved it had changed what the model gave.
    """

    args: Mapping[str, Json]
    approvers: Sequence[str]
    round: int
    state: Json
    asks: Mapping[str, str]
    edited: bool = False


class Rounds:
    """Those of one run.

    Args:
        run: the run.
        kept: what `to_json` gave when the run paused that this one continues.

    Attributes:
        going_on: the calls that go on in this run, for its gate.
        asks: what calls ask in this run, by their ids.
    """

    def __init__(self, run: Run, kept: Mapping[str, Any] | None) -> None:
        self._run = run
        self._before = {call: _Asked(**one) for call, one in (kept or {}).items()}
        self._now: dict[str, _Asked] = {}
        self._decisions: Mapping[str, Decision] = run.resume.decisions if run.resume else {}
        self.going_on: dict[str, GoingOn] = {
            call: GoingOn(one.args, tuple(one.approvers), one.edited)
            for call, one in self._before.items()
        }
        self.asks: dict[str, list[Ask]] = {}

    def decisions(self, actor: str) -> dict[str, Decision]:
        """The decisions as an adapter goes by them: calls that go on are let through.

        Args:
            actor: who began the run; the gate knows who approved what.
        """
        own = {native for one in self._before.values() for native in one.asks}
        others = {native: made for native, made in self._decisions.items() if native not in own}
        on = {call: Approve(one.args, actor=actor) for call, one in self.going_on.items()}
        return {**others, **on}

    def before(self, call: str) -> int:
        """How often a call has asked in earlier runs.

        Args:
            call: the call's id.
        """
        one = self._before.get(call)
        return one.round if one is not None else 0

    def given(self, call: str) -> Answered | None:
        """What the tool of a call is given; None in its first round.

        Args:
            call: the call's id.
        """
        one = self._before.get(call)
        if one is None:
            return None
        found = {name: self._decisions[n] for n, name in one.asks.items()}
        return Answered.of(found, one.state, one.round)

    def ask(self, call: str, needed: NeedsInput, gate: ToolGate) -> str | None:
        """Note what a tool asks that was carried out.

        Args:
            call: the call's id.
            needed: what its tool returned.
            gate: what has let it through.

        Returns:
            None: the run is to end with `asks`; else what stands for the call's result, since it
            has asked too often.
        """
        rounds = self.before(call)
        if rounds >= MAX_ROUNDS:
            return ASKED_TOO_OFTEN
        own = [(self._run.mint(), ask) for ask in needed.asks]
        self.asks[call] = [replace(ask, native_id=native, about=call) for native, ask in own]
        begun = gate.executed[call]
        names = {native: ask.native_id for native, ask in own}
        self._now[call] = _Asked(
            begun.args, begun.approvers, rounds + 1, needed.state, names, begun.edited
        )
        return None

    def expect_one_way(self, call: str | None, tool: str) -> None:
        """Refuse what waits in the framework's own way, if its call has asked by `NeedsInput`.

        What people answered then would be forgotten, and the call begin anew.

        Args:
            call: the call's id, if it is of one.
            tool: its tool.

        Raises:
            AgentMistake: that is so.
        """
        if call in self._before and call not in self.asks:
            raise AgentMistake(TWO_WAYS.format(tool))

    def to_json(self) -> dict[str, Json]:
        """What is to be kept while people are asked."""
        return {call: asdict(one) for call, one in self._now.items()}
