"""A shop that talks, looks things up, and pays once somebody approves: what it did is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.protocol.wire.run_events import KEPT
from tests.support.agents import Bench, Scripted, call_events, outcome, result, users

__all__ = ["Shop", "kept_reason", "sign", "texts_of", "texts_told"]

Event = dict[str, Any]
Message = dict[str, Any]


class Shop(Bench):
    """One shop and one thread.

    Attributes:
        scripted: the agent behind it, with the runs that it had.
        done: what was executed, each execution once.
        heard: the text of each run.
    """

    def __init__(self, **settings: Any) -> None:
        self.done: list[str] = []
        self.heard: list[str] = []
        self.scripted = Scripted(self._serve)
        super().__init__(self.scripted, **settings)

    async def _serve(self, run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            self.heard.append(run.text)
        verb, _, what = run.text.partition(" ")
        call = f"call-{run.mint()}"
        if run.resume is not None:
            ((native, decision),) = run.resume.decisions.items()
            self.done.append(f"pay {what}")
            yield result(native, f"paid {what}")
            yield f"Paid, {type(decision).__name__}."
        elif verb == "pay":
            yield Pause([Ask(call, "tool_call", "Pay?", ToolCall(call, "pay", {"to": what}))])
        elif verb in ("look", "log"):
            for event in call_events(call, verb):
                yield event
            self.done.append(run.text)
            yield result(call, f"did {run.text}")
            yield "Done."
        else:
            yield f"Heard {run.text}."

    async def pay(self, who: str, before: Sequence[Message] = (), **members: Any) -> None:
        """Ask for a payment, and approve it."""
        events = await self.say(messages=[*before, *users(f"pay {who}")], **members)
        asked = events[-1]["outcome"]["interrupts"]
        assert outcome(await self.say(messages=[], resume=self.entries(asked))) == "success"

    async def shown(self) -> list[Message]:
        """The thread as a page has it that has just heard of it."""
        return [dict(stored.message) for stored in (await self.load()).messages]


def texts_of(messages: Sequence[Message]) -> list[str]:
    """What people said and tools returned."""
    return [m["content"] for m in messages if m["role"] in ("user", "tool")]


def texts_told(events: Sequence[Event]) -> list[str]:
    """The same of the last snapshot that was told."""
    told = [event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    return texts_of(told[-1]) if told else []


def kept_reason(events: Sequence[Event]) -> str | None:
    """Why nothing was taken back, where a stream says so."""
    told = [e["value"]["reason"] for e in events if e["type"] == "CUSTOM" and e["name"] == KEPT]
    return told[0] if told else None


def sign(newest: str) -> dict[str, Any]:
    """The members of an input that say what its page knew."""
    return {"forwardedProps": {"agui_bridge": {"newest": newest}}}
