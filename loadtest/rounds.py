"""What a thread goes through: ask, then answers as clients send them, and as they should not."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx

from loadtest.client import Answer, approval, send, stop

DONE: Final = frozenset({"success"})
RACED: Final = frozenset({"success", "INTERRUPT_ALREADY_ANSWERED"})
UNAVAILABLE: Final = frozenset({"503 STORE_UNAVAILABLE", "STORE_UNAVAILABLE"})
"""A documented answer to everything: a store under more load than its time limits allow."""
BUSY: Final = frozenset({"success", "RUN_IN_PROGRESS", "INTERRUPT_PENDING"})


@dataclass
class Load:
    """Replicas under load.

    Attributes:
        urls: the replicas, two at least.
        answers: how often each kind of round got each answer.
        wrong: answers that none of the contract's rows gives.
        must: the recipients to whom a mail must have been sent, once.
        may: those to whom one may have been sent, once at most.
    """

    urls: tuple[str, ...]
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    must: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)

    async def round(self, http: httpx.AsyncClient, thread: str, number: int) -> bool:
        """Ask, and answer in one of the ways; says whether the thread is of further use."""
        before = self.unavailable
        name = f"{thread}-{number}"
        asked = await send(http, random.choice(self.urls), thread, f"send {name}")
        self.note("ask", asked, frozenset({"interrupt"}))
        if asked.word != "interrupt":
            return False
        pair = random.sample(self.urls, 2)
        way = Way(self, http, thread, asked.interrupts[0], f"{name}-0@example.com", pair)
        await random.choice(WAYS)(way)
        # What such a thread waits for now is a story of its own.
        return self.unavailable == before

    @property
    def unavailable(self) -> int:
        """How often the store was not available."""
        return sum(n for (_, word), n in self.answers.items() if word in UNAVAILABLE)

    def note(self, kind: str, answer: Answer, allowed: frozenset[str]) -> None:
        """Count an answer, and keep it if it is none that is allowed."""
        self.answers[kind, answer.word] += 1
        if answer.word not in allowed | UNAVAILABLE:
            self.wrong.append(f"{kind}: {answer.word}")


@dataclass(frozen=True)
class Way:
    """One round's pause: its client and thread, its interrupt, to whom the mail would go.

    Attributes:
        pair: the two replicas that are told of it at once, or one after the other.
    """

    load: Load
    http: httpx.AsyncClient
    thread: str
    ask: str
    to: str
    pair: Sequence[str]

    async def answer(self, replica: int | None = None, *, approved: bool = True) -> Answer:
        """Answer the pause, at some replica or one of the pair."""
        url = random.choice(self.load.urls) if replica is None else self.pair[replica]
        if approved:
            self.load.may.add(self.to)
        resume = [approval(self.ask, approved=approved)]
        answer = await send(self.http, url, self.thread, resume=resume)
        if approved and answer.word == "success":
            self.load.must.add(self.to)
        return answer

    async def say(self, text: str, replica: int) -> Answer:
        """Send a message instead."""
        return await send(self.http, self.pair[replica], self.thread, text)


async def _once(way: Way) -> None:
    way.load.note("once", await way.answer(), DONE)


async def _twice_at_once(way: Way) -> None:
    for answer in await asyncio.gather(way.answer(0), way.answer(1)):
        way.load.note("twice at once", answer, DONE)


async def _again_later(way: Way) -> None:
    await _once(way)
    for replica in (0, 1):
        way.load.note("again later", await way.answer(replica), DONE)


async def _yes_and_no(way: Way) -> None:
    answers = await asyncio.gather(way.answer(0), way.answer(1, approved=False))
    for answer in answers:
        way.load.note("yes and no at once", answer, RACED)
    words = [answer.word for answer in answers]
    if words.count("success") != 1 and not UNAVAILABLE.intersection(words):
        way.load.wrong.append(f"yes and no at once: {words}")
    elif words[1] == "success":
        way.load.may.discard(way.to)


async def _no(way: Way) -> None:
    way.load.note("no", await way.answer(approved=False), DONE)


async def _message_first(way: Way) -> None:
    answer = await way.say("never mind", random.randrange(2))
    way.load.note("message instead", answer, frozenset({"INTERRUPT_PENDING"}))
    await _once(way)


async def _message_beside(way: Way) -> None:
    one, other = await asyncio.gather(way.answer(0), way.say("hurry", 1))
    way.load.note("answer beside a message", one, DONE)
    way.load.note("message beside an answer", other, BUSY)


async def _stop_beside(way: Way) -> None:
    stopping = stop(way.http, way.pair[1], way.thread)
    one, other = await asyncio.gather(way.answer(0), stopping)
    way.load.note("answer beside a stop", one, RACED | {"cancelled"})
    way.load.note("stop beside an answer", other, frozenset({"stop success", "stop error"}))


WAYS: Final[Sequence[Callable[[Way], Awaitable[None]]]] = (
    _once,
    _twice_at_once,
    _again_later,
    _yes_and_no,
    _no,
    _message_first,
    _message_beside,
    _stop_beside,
)
"""The ways to answer."""
