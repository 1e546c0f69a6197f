"""Calls that ask in their middle in the model: rounds of one call, each in a run of its own.

A pause whose first question is no approval is asked by a call: by one that was approved, by the one
whose answers the run has, else by one that begins. EXECUTE with such answers is its last round.
What a call was given in each round is kept outside of the store, in the call.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agui_bridge.agents.replay.continuation import Asking, Decided
from agui_bridge.errors import Conflict
from agui_bridge.frameworks.needs_input import Answered
from agui_bridge.protocol.answers.decisions import Answer, Approve, decide
from agui_bridge.protocol.contract.end_transitions import FinalWrite
from agui_bridge.protocol.contract.requests import Request
from agui_bridge.protocol.threads.records import Batch, Json, RecordedAnswer, ThreadStatus
from tests.model.clients import people
from tests.model.engine import Engine, _Run
from tests.model.machine import BridgeMachine
from tests.model.operations import Action, AskKind, Load, Operation, Pause, Plan
from tests.model.questions import raise_question
from tests.model.world import Execution, Violation, World, exactly

MOST: Final = 2
"""How often one call of the model may ask."""

Policy = Literal["allow", "ask", "deny"]


@dataclass
class Call:
    """A call that asks, as an onlooker knows it who sees no store.

    Attributes:
        id: its own.
        args: what it began with.
        approved: whether a person approved it.
        rounds: how many it has had.
        state: what its last round noted.
        asked: what that round asked: the ids of the questions, by its own names for them.
        results: how many it has.
    """

    id: str
    args: Json
    approved: bool
    rounds: int = 0
    state: Json = None
    asked: Mapping[str, str] = field(default_factory=dict)
    results: int = 0


class AskingEngine(Engine):
    """An engine whose calls ask in their middle. `amid_mutants.py` overrides one method each."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.policy: Policy = "allow"
        self.calls: dict[str, Call] = {}
        self._carried: set[str] = set()

    # --- what the broken variants override ---

    def given(self, asking: Asking) -> Answered | None:
        """What a round is given that follows a question."""
        return asking.answered

    def arguments(self, kept: Mapping[str, Any], given: Answered | None) -> Json:
        """What a round is called with."""
        return kept["args"]

    def stored_state(self, state: Json) -> Json:
        """What is stored of what a round noted."""
        return state

    def names(self, asks: Mapping[str, str]) -> dict[str, str]:
        """The names under which the answers come back, by native id."""
        return dict(asks)

    def hears_policy(self, call: Call) -> bool:
        """Whether the policy is asked before a round."""
        return True

    def lets_go_on(self, call: Call, verdict: Policy) -> bool:
        """Whether a round may begin: what has begun, nobody can approve any more."""
        return verdict == "allow" or (call.approved and verdict == "ask")

    def heeds_stop(self) -> bool:
        """Whether a stop is looked at before a round."""
        return True

    def may_ask(self, call: Call) -> bool:
        """Whether a call may ask once more."""
        return call.rounds <= MOST

    def tells_each_round(self) -> bool:
        """Whether what a round returns is the call's result, whatever it is."""
        return False

    # --- the engine ---

    def _turn(
        self, run: _Run, action: Plan, *, looked: bool
    ) -> Generator[Operation, Any, FinalWrite | Literal["undelivered"] | None]:
        kept = self._kept(run)
        asks = isinstance(action, Pause) and not (action.asks[0].tool or action.asks[0].sleeps)
        if kept is not None and (asks or action is Action.EXECUTE):
            return (yield from self._round(run, kept, action))
        if not asks:
            return (yield from super()._turn(run, action, looked=looked))
        return (yield from self._round(run, self._begun(run), action))

    def _kept(self, run: _Run) -> Mapping[str, Any] | None:
        """What is stored of the call whose answers a run has, until it has its round."""
        batch = run.record.batch
        if batch is None or run.token in self._carried or not isinstance(batch.continuation, dict):
            return None
        return batch.continuation

    def _begun(self, run: _Run) -> Mapping[str, Any]:
        """A call that begins: an approved one, or one of which nobody was asked."""
        approved = next((id for id, made in run.todo.items() if isinstance(made, Approve)), None)
        call_id = self.world.mint("asking")
        made = run.todo.get(approved or "")
        args = dict(made.args) if isinstance(made, Approve) else {"n": 0, "of": call_id}
        self.calls[call_id] = Call(call_id, args, approved is not None)
        return {"call": call_id, "args": args, "approval": approved}

    def _round(
        self, run: _Run, kept: Mapping[str, Any], action: Plan
    ) -> Generator[Operation, Any, FinalWrite | None]:
        call, asking, given = self.calls[kept["call"]], None, None
        record = (yield Load()).record
        mine = record is not None and record.run is not None and record.run.token == run.token
        if mine and record is not None and record.stop_requested is not None and self.heeds_stop():
            run.stopping = True
        if run.stopping:
            return None
        if not self.may_execute(run.lease_ends_at):
            raise Conflict("the lease is over by the owner's own clock")
        if "asking" in kept:
            self._carried.add(run.token)
            asking = self._answered(run, Asking.model_validate(kept["asking"]))
            given = self.given(asking)
        if self.hears_policy(call) and not self.lets_go_on(call, self.policy):
            call.results += call.rounds > 0
            self._spend(run, kept)
            return None
        self._check(run, call, self.arguments(kept, given), given)
        self._note_round(run, kept)
        call.rounds += 1
        if isinstance(action, Pause) and self.may_ask(call):
            call.results += self.tells_each_round()
            return self._asked(run, kept, call, action.asks)
        call.results += 1
        return None

    def _answered(self, run: _Run, asking: Asking) -> Asking:
        names = self.names(asking.asks)
        decided = {}
        for id, ask in run.claimed.items():
            answer = ask.answer or RecordedAnswer("cancelled")
            made = decide(ask, answer, expired=id in run.expired)
            decided[names[ask.native_id]] = Decided.of(made, None, "somebody")
        return asking.model_copy(update={"decided": decided})

    def _check(self, run: _Run, call: Call, args: Json, given: Answered | None) -> None:
        """What must hold right where a round begins."""
        record = self.world.look().record
        holds = record is not None and record.run is not None and record.run.token == run.token
        if not holds or run.lease_ends_at <= self.world.now:
            raise Violation(f"a round of {call.id} began without its lease")
        if record is not None and record.stop_requested is not None:
            raise Violation(f"a round of {call.id} began after a stop was asked for")
        if self.policy == "deny" or (self.policy == "ask" and not call.approved):
            raise Violation(f"a round of {call.id} began, of which the policy says {self.policy}")
        if call.results:
            raise Violation(f"{call.id} has a result and went on")
        if call.rounds > MOST:
            raise Violation(f"{call.id} asks without end")
        if exactly(args) != exactly(call.args):
            raise Violation(f"{call.id} began with {call.args} and went on with {args}")
        if call.rounds != (given.round if given is not None else 0):
            raise Violation(f"{call.id} had {call.rounds} rounds, and is told {given}")
        if given is None:
            return
        if exactly(given.state) != exactly(call.state):
            raise Violation(f"{call.id} noted {call.state} and was given {given.state}")
        rows = self.world.rows()
        if given.answers.keys() != call.asked.keys():
            raise Violation(f"{call.id} asked {call.asked} and was given {given.answers}")
        for name, id in call.asked.items():
            said, made = rows[id].answer, given.answers[name]
            if isinstance(made, Answer) and (
                said is None or exactly(said.payload) != exactly(made.payload)
            ):
                raise Violation(f"{call.id} asked {id} and was given {made}, not {said}")

    def _note_round(self, run: _Run, kept: Mapping[str, Any]) -> None:
        """Note what is executed: the approved call, or what goes on with each answer."""
        run.acted = True
        for id, made in self._spend(run, kept).items():
            if isinstance(made, Approve):
                run.done.append(id)
            given = made.args if isinstance(made, Approve) else getattr(made, "payload", None)
            self.world.ledger.executions.append(Execution(id, given, run.token))

    def _spend(self, run: _Run, kept: Mapping[str, Any]) -> dict[str, Any]:
        own = list(run.todo) if "asking" in kept else [id for id in (kept["approval"],) if id]
        return {id: run.todo.pop(id) for id in own}

    def _asked(
        self, run: _Run, kept: Mapping[str, Any], call: Call, kinds: Sequence[AskKind]
    ) -> FinalWrite:
        batch, call.state = self.world.mint("batch"), {"noted": self.world.mint("state")}
        asks = []
        for at, kind in enumerate(kinds):
            made = raise_question(
                self.world, replace(kind, tool=False), batch, at, run.record.askers
            )
            asks.append(replace(made, about=call.id))
        call.asked = {f"name {at}": ask.id for at, ask in enumerate(asks)}
        asking = Asking(
            tool_call_id=call.id,
            round=call.rounds,
            state=self.stored_state(call.state),
            asks={ask.native_id: f"name {at}" for at, ask in enumerate(asks)},
        )
        continuation = {**kept, "approval": None, "asking": asking.model_dump(mode="json")}
        return FinalWrite("finished", batch=Batch(batch, continuation), interrupts=tuple(asks))


_QUESTIONS = st.lists(
    st.builds(
        AskKind,
        tool=st.just(False),
        offers_more=st.booleans(),
        expires_in=st.sampled_from((None, None, 15.0)),
    ),
    min_size=1,
    max_size=2,
)
_POLICIES: tuple[Policy, ...] = ("allow", "allow", "allow", "ask", "deny")


class AskingMachine(BridgeMachine):
    """Any number of processes over one thread whose calls ask in their middle."""

    engine_class: ClassVar[type[Engine]] = AskingEngine
    engine: AskingEngine

    @rule(says=st.sampled_from(_POLICIES))
    def the_policy_changes(self, says: Policy) -> None:
        self.engine.policy = says

    @precondition(lambda self: self.world.look().status is ThreadStatus.IDLE)
    @rule(kinds=_QUESTIONS, who=people)
    def a_call_asks(self, kinds: list[AskKind], who: Any) -> None:
        self._talk(Request(has_new_message=True, principal=who), [Pause(tuple(kinds))])

    @precondition(lambda self: self.world.look().status is ThreadStatus.INTERRUPTED)
    @rule(
        kinds=st.none() | _QUESTIONS,
        style=st.sampled_from(("approve", "approve", "edit", "decline", "cancel")),
        who=people,
    )
    def its_questions_are_answered(self, kinds: list[AskKind] | None, style: str, who: Any) -> None:
        """Answer all that is asked; what has asked asks once more, or comes to its end."""
        plan: list[Plan] = [Pause(tuple(kinds)) if kinds else Action.EXECUTE, Action.FINISH]
        if mine := self._may(who):
            self._answer(who, mine, style, plan)
