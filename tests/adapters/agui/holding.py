"""An endpoint that asks about its calls as AG2's does, with any schema: its turns wait in memory.

Written after what AG2 1.2.1's own endpoint does: it asks about one call after the other, takes a
yes and a no of its own, refuses every other payload and leaves the question open, ends a run that
is cancelled as such, and starts an ordinary run for an answer to a turn that it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette

from tests.adapters.agui.upstream import Upstream, call, finished, result, started, text

__all__ = ["Asking", "Holding", "in_outcome"]

Event = dict[str, Any]
Asking = Callable[[str, str, Mapping[str, Any] | None], list[Event]]
"""How a run ends that asks: of the question's id, the call's, and the schema of its answer."""


def in_outcome(question: str, call_id: str, schema: Mapping[str, Any] | None) -> list[Event]:
    """A question as an interrupt of the outcome."""
    ask: Event = {"id": question, "reason": "tool_call", "toolCallId": call_id, "message": "May I?"}
    if schema is not None:
        ask["responseSchema"] = schema
    return [finished({"type": "interrupt", "interrupts": [ask]})]


@dataclass
class Holding:
    """The endpoint.

    Attributes:
        schema: of its questions' answers.
        yes: whether a payload lets the call run; None where it is refused.
        calls: what each turn calls, in this order, by tool and arguments (JSON).
        asking: how it asks.
        reads: the payload of an input that answers; None where it does not.
        executed: ids of the calls that ran.
        got: the payloads that came.
    """

    schema: Mapping[str, Any] | None
    yes: Callable[[Any], bool | None]
    calls: Sequence[tuple[str, str]] = (("drop_table", '{"table":"users"}'),)
    asking: Asking = in_outcome
    reads: Callable[[Event], Event | None] = lambda body: (body.get("resume") or [None])[0]
    executed: list[str] = field(default_factory=list)
    got: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._held: dict[str, list[tuple[str, Event | None]]] = {}
        self._turns = 0
        self._upstream = Upstream(self._run)

    def app(self) -> Starlette:
        return self._upstream.app()

    @property
    def heard(self) -> int:
        """How many inputs came."""
        return len(self._upstream.bodies)

    def forget(self) -> None:
        """Lose what waits, as a restart does."""
        self._held.clear()

    def _run(self, body: Event) -> list[Event]:
        thread, answer = body["threadId"], self.reads(body)
        turn = self._held.get(thread)
        if turn is None and answer is not None:
            return [started(), *text("What was that?", f"lost-{self.heard}"), finished(SUCCESS)]
        if turn is None:
            self._turns += 1
            ids = [f"call-{self._turns}-{n}" for n in range(len(self.calls))]
            self._held[thread] = [(call_id, None) for call_id in ids]
            told = [
                e for id, (name, args) in zip(ids, self.calls, strict=True)
                for e in call(id, name, args)
            ]  # fmt: skip
            return [started(), *told, *self._ask(thread)]
        if answer is None:
            return [_error("INTERRUPT_NOT_COVERED")]
        if answer.get("status") == "cancelled":
            del self._held[thread]
            return [started(), finished({"type": "cancelled"})]
        self.got.append(answer.get("payload"))
        allowed = self.yes(answer.get("payload"))
        if allowed is None:
            return [_error("INTERRUPT_PAYLOAD_REFUSED")]
        at = next(n for n, (_, told) in enumerate(turn) if told is None)
        call_id = turn[at][0]
        self.executed += [call_id] if allowed else []
        turn[at] = (call_id, result("dropped" if allowed else "refused", call_id))
        return [started(), *self._ask(thread)]

    def _ask(self, thread: str) -> list[Event]:
        turn = self._held[thread]
        waiting = [call_id for call_id, told in turn if told is None]
        if waiting:
            return self.asking(f"ask-{waiting[0]}", waiting[0], self.schema)
        del self._held[thread]
        results = [told for _, told in turn if told is not None]
        return [*results, *text("Done.", f"said-{self.heard}"), finished(SUCCESS)]


SUCCESS = {"type": "success"}


def _error(code: str) -> Event:
    return {"type": "RUN_ERROR", "message": "refused", "code": code}
