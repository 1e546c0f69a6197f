"""One random schedule: pages, two processes, lost requests, cut responses, and a calm end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from agui_bridge.engine.engine import mint
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.recovery import recover_thread
from agui_bridge.errors import Conflict
from agui_bridge.protocol.threads.client_messages import GoingBackPolicy
from tests.model.conversations.ledger import SENT_BY, Ledger, Sent, WatchedStore, words_of
from tests.model.conversations.page import Event, Kind, Message, Page, as_shown, quiet, read
from tests.model.conversations.shopkeeper import AT_ONCE, Shopkeeper
from tests.support.agents import Bench, Reader
from tests.support.clock import FakeClock

__all__ = ["POLICIES", "Schedule"]

POLICIES: Final[tuple[GoingBackPolicy, ...]] = ("text",) * 6 + (
    "signed",
    "ungated",
    "ungated",
    "always",
)
"""Of `going_back`, as often as they are tried."""

_PAGES: Final[tuple[tuple[Kind, ...], ...]] = (
    ("sign", "plain"),
    ("plain", "plain"),
    ("sign", "sign", "plain"),
    ("unkept", "plain"),
    ("one run id", "sign"),
    ("parent", "plain"),
    ("unkept", "sign", "plain"),
)
_LENGTHS: Final = (6, 10, 16, 30, 50)
_PATIENCE: Final = 200


class Schedule:
    """A thread and who comes to it.

    Args:
        seed: says all that is left to chance.

    Attributes:
        ledger: what came to pass.
        log: the same in words, for who looks for a fault.
    """

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.log: list[str] = []
        policy = self.dice.choice(POLICIES)
        self.ledger = Ledger(policy=policy)
        acts_on_state = self.dice.random() < 0.25
        self.clock = clock = FakeClock()
        store = WatchedStore(clock.time)
        store.ledger = self.ledger
        self.agent = Shopkeeper(self.ledger, self.dice)
        self.processes = [
            Bench(
                self.agent,
                store=store,
                clock=clock,
                going_back=policy,
                read_only_tools=("peek",),
                acts_on_state=acts_on_state,
            )
            for _ in range(2)
        ]
        kinds = self.dice.choice(_PAGES)
        self.pages = [
            Page(f"{kind} {n}", kind, self.dice.choice(("ann", "ann", "bob")))
            for n, kind in enumerate(kinds)
        ]
        self._late: list[tuple[Page | None, Sent]] = []
        self._reading: dict[asyncio.Task[None], Page | None] = {}
        self._numbers = itertools.count(1)

    async def carry_out(self) -> Ledger:
        """Carry it out to its calm end."""
        for _ in range(self.dice.choice(_LENGTHS)):
            if self.ledger.faults:
                # What follows tells no more, and a thread that doubles grows without end.
                break
            await self._move()
        if not self.ledger.faults:
            await self._end()
        for task in self._reading:
            task.cancel()
        for process in self.processes:
            await process.engine.aclose()
        return self.ledger

    async def _end(self) -> None:
        """What is late arrives; then everybody is heard, and goes back once more."""
        await self._settle()
        for page, sent in self._late:
            await self._post(None if page is None or page.busy else page, sent)
            await self._settle()
        self.agent.free = True
        for page in self.pages:
            await self._must_be_heard(page)
        for page in self.pages:
            await self._go_back_over_text(page)
            await self._go_back_over_a_call(page)
        await self._check_what_was_said()

    # --- what may happen next ---

    async def _move(self) -> None:
        chance = self.dice.random()
        if chance < 0.45:
            self.agent.step()
        elif chance < 0.47:
            await self._die()
        elif chance < 0.56 and self._late:
            page, sent = self._late.pop(self.dice.randrange(len(self._late)))
            if page is None or page.busy is None:
                self._note("late or again:")
                await self._post(page, sent)
        else:
            await self._act(self.dice.choice(self.pages))
        self.clock.advance(self.dice.choice((0.0, 0.1, 0.6)))
        await quiet()

    async def _act(self, page: Page) -> None:
        dice = self.dice
        if page.busy is not None:
            if dice.random() < 0.75:
                return
            self._note(f"{page.name} waits no longer")
            page.busy = None
        unanswered, page.unanswered = page.unanswered, None
        asks, chance = page.shown.pending_interrupts, dice.random()
        if unanswered is not None and dice.random() < 0.5:
            self._note(f"{page.name} tries again:")
            await self._post(page, unanswered)
        elif asks and chance < 0.7:
            await self._answer(page)
        elif page.handed and chance < 0.7:
            call = dice.choice(page.handed)
            knew = page.messages
            page.show([*knew, _returned(call, f"r{next(self._numbers)}")])
            await self._send(page, page.request(knew=knew))
        elif chance < 0.12 and page.said:
            await self._regenerate(page, page.said[-1]["id"])
        elif chance < 0.27 and page.said:
            await self._edit(page, dice.choice(page.said)["id"], dice.choice(("say", "look")))
        elif chance < 0.36 and (await self.processes[0].load()).record is not None:
            await self._connect(page)
        elif chance < 0.40:
            await self._send(page, page.request(knew=page.messages))
        else:
            await self._say(page, dice.choice(("say", "say", *AT_ONCE)))

    async def _die(self) -> None:
        """The process that runs the thread dies, with all that it serves."""
        owner = next((p for p in self.processes if p.KEY in p.engine.running), None)
        loaded = await self.processes[0].load()
        if owner is None or loaded.run is None:
            return
        self._note("the process dies")
        for task, page in self._reading.items():
            task.cancel()
            if page is not None:
                page.busy = None
        over = replace(loaded, now=loaded.run.ends_at + 1)
        with contextlib.suppress(Conflict):
            await recover_thread(owner.store, owner.KEY, over, mint)
            self.ledger.lost(await owner.stored())
        for process in self.processes:
            for serving in tuple(process.engine._tasks):
                serving.cancel()
        await quiet()

    # --- what pages do ---

    async def _say(self, page: Page, verb: str) -> str:
        knew, message = page.messages, self._new(page, verb)
        page.show([*knew, message])
        await self._send(page, page.request(knew=knew, says=message["content"]))
        return str(message["content"])

    async def _edit(self, page: Page, id: str, verb: str) -> str:
        knew, newest, message = page.messages, page.newest, self._new(page, verb)
        at = [m["id"] for m in knew].index(id)
        self._note(f"{page.name} edits {words_of(knew[at])}")
        page.show([*knew[:at], message])
        says = message["content"]
        await self._send(page, page.request(knew=knew, says=says, newest=newest))
        return str(says)

    async def _regenerate(self, page: Page, id: str) -> None:
        knew, newest = page.messages, page.newest
        at = [m["id"] for m in knew].index(id)
        self._note(f"{page.name} wants another answer to {words_of(knew[at])}")
        page.show(knew[: at + 1])
        await self._send(page, page.request(knew=knew, newest=newest))

    async def _answer(self, page: Page) -> None:
        entries = [
            {
                "interruptId": ask.id,
                "status": "resolved",
                "payload": {"approved": self.dice.random() < 0.7},
            }
            for ask in page.shown.pending_interrupts
        ]
        await self._send(page, page.request(knew=page.messages, resume=entries))

    async def _connect(self, page: Page) -> None:
        self._note(f"{page.name} connects")
        process = self.dice.choice(self.processes)
        sent = page.request(knew=page.messages)
        call = process.call(actor=page.actor, runId=sent.body["runId"])
        page.busy = sent
        self._read(page, sent, Reader(*show_thread(process.engine, call)), None, again=False)

    def _new(self, page: Page, verb: str) -> Message:
        words = f"{verb} {next(self._numbers)}"
        for number in range(AT_ONCE.get(verb, 0)):
            self.ledger.licence[f"{words}/{number}"] += 1
        return {"id": f"id of {words}", "role": "user", "content": words}

    # --- the wire ---

    async def _send(self, page: Page, sent: Sent) -> None:
        chance = 1.0 if self.agent.free else self.dice.random()
        if chance < 0.08:
            self._note(f"a request of {page.name} is lost")
            return
        if chance < 0.16:
            self._note(f"a request of {page.name} is late")
            self._late.append((None, sent))
            return
        if chance < 0.26:
            self._late.append((None, sent))
        cut = None if self.agent.free or self.dice.random() < 0.65 else self.dice.randrange(9)
        await self._post(page, sent, cut)

    async def _post(self, page: Page | None, sent: Sent, cut: int | None = None) -> None:
        process = self.dice.choice(self.processes)
        again = sent.claimed
        listed = [words_of(m) or m["id"] for m in sent.body["messages"]]
        self._note(
            f"{page.name if page else 'nobody'} sends {sent.body['runId']} {listed}"
            f" {sent.body.get('resume') or ''} sign {sent.sign}"
            + (f", cut after {cut}" if cut is not None else "")
        )
        if page is not None:
            page.busy, page.unanswered = sent, None
        token = SENT_BY.set(sent)
        try:
            # A copy: the same request may be sent again.
            body = {**sent.body, "messages": [dict(m) for m in sent.body["messages"]]}
            reader = process.begin(actor=sent.actor, disconnect="continue", **body)
        finally:
            SENT_BY.reset(token)
        self._read(page, sent, reader, cut, again=again)
        await quiet()

    def _read(
        self, page: Page | None, sent: Sent, reader: Reader, cut: int | None, *, again: bool
    ) -> None:
        async def to_the_end() -> None:
            events = await read(page, sent, reader, cut)
            if events:
                await self._judge(page, sent, events, again=again)

        task = asyncio.create_task(to_the_end())
        self._reading[task] = page
        task.add_done_callback(lambda _: self._reading.pop(task))
        task.add_done_callback(self._failed)

    def _failed(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.ledger.fault(f"a page could not read its response: {error!r}")

    async def _judge(
        self, page: Page | None, sent: Sent, events: Sequence[Event], *, again: bool
    ) -> None:
        last, ledger = events[-1], self.ledger
        refused = last["code"] if last["type"] == "RUN_ERROR" else None
        self._note(f"-> {sent.body['runId']}: {refused or last.get('outcome')}")
        if again and sent.claimed and sent.can_be_known and not sent.answers:
            ledger.seen["repeats"] += 1
            if refused and not sent.lost:
                ledger.fault(f"{sent.body['runId']} was carried out, and its repeat refused")
            if sent.lost and not refused:
                ledger.fault(f"{sent.body['runId']} was lost, and its repeat told as a success")
        if page is None:
            return
        if refused is None and sent.says is not None:
            ledger.acknowledged.add(sent.says)
        if any(event["type"] == "RUN_FINISHED" for event in events):
            await self._compare(page, sent, began=sent.claimed and not again)

    async def _compare(self, page: Page, sent: Sent, *, began: bool) -> None:
        """A page that has heard a run to its end shows the thread as it is.

        Where nothing ran it is told once: what it lacked in the middle stands at its end. So does
        the result of a call that was approved together with another message.
        """
        loaded = await self.processes[0].load()
        if page.kind == "unkept" or sent.alone or loaded.run is not None:
            return
        self.ledger.seen["compared with the thread"] += 1
        now = as_shown([m.message for m in loaded.messages], loosely=sent.answers)
        shown = as_shown(page.messages, loosely=sent.answers)
        if not began:
            now, shown = sorted(now), sorted(shown)
        if shown != now:
            self.ledger.fault(f"{page.name} shows {shown}, the thread is {now}")

    def _note(self, line: str) -> None:
        self.log.append(line)

    # --- the calm end ---

    async def _settle(self) -> None:
        """Let all runs end."""
        await self._until(lambda: not self._reading and not self._busy())

    def _busy(self) -> bool:
        return any(process.engine.running for process in self.processes)

    async def _until(self, done: Callable[[], bool]) -> None:
        for _ in range(_PATIENCE):
            await quiet()
            if done():
                return
            self.agent.step()
            self.clock.advance(0.1)
        self.ledger.fault("something goes on without end")

    async def _close_questions(self) -> None:
        for _ in range(8):
            loaded = await self.processes[0].load()
            if not loaded.waiting:
                return
            denied = {"approved": False}
            entries = Bench.entries([{"id": ask.id} for ask in loaded.waiting], denied)
            page = self.pages[0]
            await self._send(page, page.request(knew=page.messages, resume=entries))
            await self._settle()
        self.ledger.fault("the thread goes on asking")

    async def _calmly(self, page: Page, verb: str) -> str:
        await self._close_questions()
        page.busy = None
        words = await self._say(page, verb)
        await self._settle()
        return words

    async def _must_be_heard(self, page: Page) -> None:
        words = await self._calmly(page, "say")
        await self._close_questions()
        if words not in self.ledger.heard:
            self.ledger.fault(f"the thread is stuck: {page.name} says {words}, nobody hears it")

    async def _go_back_over_text(self, page: Page) -> None:
        """Whoever shows the thread as it is has another answer, and an edit, over text alone."""
        policy = self.ledger.policy
        if page.kind in ("unkept", "one run id") or (policy == "signed" and page.kind != "sign"):
            return
        words = await self._calmly(page, "say")
        before = page.messages
        ids = [message["id"] for message in before]
        at = ids.index(f"id of {words}") if f"id of {words}" in ids else 0
        if not at or len(before) != at + 2 or page.shown.pending_interrupts or page.handed:
            return
        await self._regenerate(page, ids[at])
        await self._settle()
        now = [message["id"] for message in page.messages]
        if now[:-1] != ids[:-1] or now[-1] == ids[-1]:
            self.ledger.fault(f"{page.name} has no other answer: {ids}, then {now}")
        said = await self._edit(page, ids[at], "say")
        await self._settle()
        shown = [words_of(m) for m in page.said]
        if words in shown or said not in shown:
            self.ledger.fault(f"{page.name} edits {words}, and has {shown}")
        self.ledger.seen["went back over text at the end"] += 1

    async def _go_back_over_a_call(self, page: Page) -> None:
        """With the sign it is made anew, and taken back; without it nothing is done twice."""
        if page.kind not in ("sign", "plain"):
            return
        words = await self._calmly(page, "look")
        id, policy = f"id of {words}", self.ledger.policy
        if page.shown.pending_interrupts or page.handed or page.said[-1]["id"] != id:
            # The agent has more to do than that.
            return
        label = f"{words}/0"
        before = self.ledger.done.count(label)
        await self._regenerate(page, id)
        await self._settle()
        anew = self.ledger.done.count(label) - before
        if anew != (page.kind == "sign" or policy in ("ungated", "always")):
            self.ledger.fault(f"{page.name} has another answer to {words}, done {anew} times more")
        if page.said[-1]["id"] != id:
            return
        await self._edit(page, id, "say")
        await self._settle()
        gone = words not in [words_of(m) for m in page.said]
        if gone != (page.kind == "sign" or policy == "always"):
            self.ledger.fault(f"{page.name} edits {words}, which is {'' if gone else 'not '}gone")
        if self.ledger.done.count(label) != before + anew:
            self.ledger.fault(f"an edit of {page.name} did {words} again")
        self.ledger.seen["went back over a call at the end"] += 1

    async def _check_what_was_said(self) -> None:
        stored = {words_of(m.message) for m in await self.processes[0].stored()}
        for words in sorted(self.ledger.acknowledged):
            if words not in stored:
                self.ledger.fault(f"{words} was acknowledged and is not in the thread")
            elif words not in self.ledger.heard:
                self.ledger.fault(f"{words} was acknowledged, and nobody heard it")


def _returned(call: str, id: str) -> dict[str, Any]:
    return {"id": id, "role": "tool", "toolCallId": call, "content": "shown"}
