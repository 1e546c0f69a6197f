"""An agent that acts a step at a time: one that does what its context lacks, or what came in."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator
from typing import Final

from agui_bridge.adapters import Ask, Handoff, Pause, Run, RunItem
from agui_bridge.errors import NotDelivered
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.threads.records import ToolCall
from tests.model.conversations.ledger import SENT_BY, Act, Ledger, words_of
from tests.support.agents import Scripted, call_events, result

__all__ = ["Shopkeeper"]

AT_ONCE: Final = {"pay": 1, "look": 1, "peek": 1, "pays": 2, "page": 1, "pages": 2}
"""How many calls a message wants that begins with a word; those of other words want none."""


class Shopkeeper(Scripted):
    """Acts when it is let.

    Args:
        ledger: where its acts are noted.
        dice: what is left to chance.

    Attributes:
        waiting: its turns that nobody has given it yet.
        free: whether it may go on by itself.
    """

    def __init__(self, ledger: Ledger, dice: random.Random) -> None:
        super().__init__(self._serve)
        self.waiting: list[asyncio.Future[None]] = []
        self.free = False
        self._ledger = ledger
        self._dice = dice
        self._reads_context = dice.random() < 0.5
        self._numbers = itertools.count(1)

    async def _turn(self) -> None:
        if not self.free:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.append(turn)
            await turn

    def step(self) -> None:
        """Let it do the next thing."""
        while self.waiting:
            turn = self.waiting.pop(0)
            if not turn.done():
                turn.set_result(None)
                return

    async def _serve(self, run: Run) -> AsyncIterator[RunItem]:
        await self._turn()
        if not self.free and self._dice.random() < 0.03:
            if (sent := SENT_BY.get()) is not None:
                sent.claimed = False
            self._ledger.seen["runs that reached nobody"] += 1
            raise NotDelivered("nobody is there")
        wanted = self._brought(run)
        self._ledger.heard.update(wanted)
        if run.resume is not None:
            for native, decision in run.resume.decisions.items():
                if isinstance(decision, Approve):
                    await self._turn()
                    self._execute(native, "pay", str(decision.args["for"]), decision.args["n"])
                    await self._turn()
                    yield result(native, "paid")
        if self._reads_context:
            wanted = _lacking(run)
            self._ledger.heard.update(words_of(m) for m in run.raw_messages if _is_user(m))
        for words in wanted:
            verb = words.partition(" ")[0]
            calls = [self._call_id() for _ in range(AT_ONCE.get(verb, 0))]
            await self._turn()
            if verb in ("look", "peek"):
                for event in call_events(calls[0], verb, json.dumps({"for": words})):
                    yield event
                await self._turn()
                self._execute(calls[0], verb, words, 0)
                await self._turn()
                yield result(calls[0], f"did {words}")
            elif verb in ("page", "pages"):
                for number, call in enumerate(calls):
                    for event in call_events(call, "page", json.dumps({"for": words})):
                        yield event
                    # The page carries it out: what it returns is what was done.
                    self._ledger.calls[call] = Act("page", words, f"{words}/{number}")
                yield Handoff(calls)
                return
            elif calls:
                yield Pause([_ask(call, words, n) for n, call in enumerate(calls)])
                return
        await self._turn()
        yield "Well."

    def _execute(self, call: str, tool: str, words: str, number: object) -> None:
        self._ledger.execute(call, Act(tool, words, f"{words}/{number}"))

    def _call_id(self) -> str:
        return f"call-{next(self._numbers)}"

    def _brought(self, run: Run) -> list[str]:
        """What came with the input, newly or again."""
        new = [words_of(m) for m in run.raw_new_messages if _is_user(m)]
        if new or run.silent or run.resume is not None or run.handoff is not None:
            return new
        return [words_of(m) for m in run.raw_messages if _is_user(m)][-1:]


def _is_user(message: object) -> bool:
    return isinstance(message, dict) and message["role"] == "user"


def _lacking(run: Run) -> list[str]:
    """What people want in the context that no call there was made for."""
    calls = [c for m in run.raw_messages for c in m.get("toolCalls") or ()]
    made = {json.loads(call["function"]["arguments"])["for"] for call in calls}
    words = [words_of(m) for m in run.raw_messages if _is_user(m)]
    return [each for each in words if each.partition(" ")[0] in AT_ONCE and each not in made]


def _ask(call: str, words: str, number: int) -> Ask:
    return Ask(call, "tool_call", "Pay?", ToolCall(call, "pay", {"for": words, "n": number}))
