"""A run's stream as a task's: the task, then what the agent says, then where it stands.

The events of a run come as they happen, but the task's first and last word are read from the
thread: so a stream, a subscription and a look at the task tell the same.

Source: the A2A specification 1.0, sections 3.1.2, 3.1.6 and 4.2.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agui_bridge.a2a.faults import Fault, fault_of
from agui_bridge.a2a.requests import TaskId
from agui_bridge.a2a.tasks import Tasks, is_spoken, stretch_of
from agui_bridge.a2a.wire import ENDS, as_object, as_objects, as_text
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import Refused, StoreError
from agui_bridge.protocol.contract.requests import AskAgain, Join, Reject, Start
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.sse import Decoder

logger: Final = logging.getLogger("agui_bridge")

_ASKS: Final = "A task of this context asks something: send the message with its taskId to answer."

Write = Callable[[Mapping[str, Json] | Fault], bytes]
"""Makes bytes of a stream's event, or of what broke it off, as the binding has it."""


Follow = Callable[[], tuple[Pipe, EventStream]]
"""Begins to follow a thread."""


class TaskStream:
    """Reads a run's pipe, and is read like one.

    Args:
        tasks: tells of the task.
        id: the task.
        pipe: what the run writes.
        stream: what it is told in.
        write: makes the bytes of each event.
        history: messages of the history at most, in the first event.
        opening: the task as its message begins it; None: the input begins none.
        again: follows the task anew, where a question or a sleep is not to end the stream.
    """

    def __init__(
        self,
        tasks: Tasks,
        id: TaskId,
        pipe: Pipe,
        stream: EventStream,
        write: Write,
        history: int | None = None,
        *,
        opening: Mapping[str, Json] | None = None,
        again: Follow | None = None,
    ) -> None:
        self._tasks = tasks
        self._id = id
        self._pipe = pipe
        self._stream = stream
        self._write = write
        self._history = history
        self._opening = opening
        self._again = again
        self._decoder = Decoder()
        self._told: dict[str, str] = {}
        self._heard: dict[str, str] = {}
        # Whether a message is the task's: a thread that is followed may have begun another one.
        self._own: dict[str, bool] = {}
        self._status: Json = None
        self._waits = self._ended = False

    async def begin(self) -> bytes:
        """Wait until the run begins; gives the task.

        Raises:
            Fault: the input was refused, and nothing was changed.
            StoreUnavailable: the store did not answer.
        """
        begins = self._opening is not None
        try:
            chunk = await first_of(self._pipe, self._stream, begins=begins)
            if self._opening is not None and isinstance(self._stream.ruling, Start):
                task = self._opening
            else:
                task = await self._tasks.task(self._id, history=self._history)
        except BaseException:
            # Also when the host gives up on the request: nobody will read this stream.
            self._pipe.detach()
            raise
        self._status = task["status"]
        for artifact in as_objects(task.get("artifacts")):
            self._told[as_text(artifact.get("artifactId"))] = _text_of(artifact)
        return b"".join([self._write({"task": task}), *await self._take(chunk)])

    async def read(self) -> bytes:
        """Wait for events; b"" is the end."""
        while not self._ended:
            chunk = await self._pipe.read()
            if chunk:
                events = b"".join(await self._take(chunk))
            elif not self._waits:
                events = await self._end()
                self._waits = self._again is not None and self._is_open
                self._ended = not self._waits
            else:
                events = await self._go_on()
            if events:
                return events
        return b""

    @property
    def ended(self) -> bool:
        """Whether all has been read."""
        return self._ended

    def detach(self) -> None:
        """Stop reading; the task goes on."""
        self._pipe.detach()

    # --- a task that asks, or sleeps ---

    @property
    def _is_open(self) -> bool:
        """Whether it may go on, by what was told last."""
        return as_object(self._status).get("state") not in ENDS

    async def _go_on(self) -> bytes:
        """Wait until the task does something else, and follow it again; gives how it has ended."""
        assert self._again is not None, "only a subscription waits"
        self._waits, self._ended = False, True
        try:
            if not await self._tasks.changes(self._id, self._status):
                return b""
            task = await self._tasks.task(self._id, history=0, artifacts=False)
            if as_object(task["status"]).get("state") in ENDS:
                # By now the thread may be at work on another one.
                return await self._end()
            self._pipe, self._stream = self._again()
        except (Fault, Refused, StoreError):
            # The client comes back, and is told why.
            return b""
        self._decoder, self._ended = Decoder(), False
        return b""

    # --- what the agent says ---

    async def _take(self, chunk: bytes) -> Sequence[bytes]:
        """What is new in a chunk, of each message in one piece."""
        grown: dict[str, None] = {}
        for frame in self._decoder.feed(chunk):
            for id, text in self._said(json.loads(frame.data)):
                self._heard[id] = text
                grown[id] = None
        own = [id for id in grown if await self._is_own(id)]
        return [self._write(event) for id in own if (event := self._grow(id)) is not None]

    async def _is_own(self, id: str) -> bool:
        """Whether a message that is being said is the task's; what is unsure is told at the end."""
        if self._again is None:
            # The run is the one that the task's own message has begun, or answered.
            return True
        if id not in self._own:
            try:
                self._own[id] = await self._tasks.is_newest(self._id)
            except StoreError:
                self._own[id] = False
        return self._own[id]

    def _said(self, event: WireEvent) -> Sequence[tuple[str, str]]:
        match event["type"]:
            case "TEXT_MESSAGE_START" if event.get("role", "assistant") == "assistant":
                if "subagentRunId" not in event:
                    return [(event["messageId"], "")]
            case "TEXT_MESSAGE_CONTENT" if event["messageId"] in self._heard:
                id = event["messageId"]
                return [(id, self._heard[id] + event["delta"])]
            case "MESSAGES_SNAPSHOT":
                own, _ = stretch_of(event["messages"], self._id.message)
                said = [(each["id"], each["content"]) for each in own if is_spoken(each)]
                self._own.update((id, True) for id, _ in said)
                return said
        return []

    def _grow(self, id: str) -> Mapping[str, Json] | None:
        """What of a message was not told yet; a text that has changed is told anew."""
        known, text = self._told.get(id, ""), self._heard[id]
        goes_on = text.startswith(known)
        if text == known or known.startswith(text):
            return None
        self._told[id] = text
        rest = text[len(known) :] if goes_on else text
        return self._of_task(
            "artifactUpdate",
            artifact={"artifactId": id, "parts": [{"text": rest}]},
            append=goes_on and bool(known),
        )

    # --- the end ---

    async def _end(self) -> bytes:
        try:
            check_not_refused(self._stream)
            task = await self._tasks.task(self._id, history=0, note=note_of(self._stream))
        except Fault as fault:
            self._again = None
            return self._write(fault)
        except StoreError:
            self._again = None
            return self._write(Fault.of("STORE_UNAVAILABLE", "The store does not answer."))
        events = []
        for artifact in as_objects(task.get("artifacts")):
            id, text = as_text(artifact.get("artifactId")), _text_of(artifact)
            known = self._told.get(id)
            if known is None or text != known:
                goes_on = bool(known) and text.startswith(known or "")
                rest = {"parts": [{"text": text[len(known or "") :]}]} if goes_on else {}
                self._told[id] = text
                events.append(
                    self._of_task("artifactUpdate", artifact={**artifact, **rest}, append=goes_on)
                )
        if task["status"] != self._status:
            self._status = task["status"]
            events.append(self._of_task("statusUpdate", status=task["status"]))
        return b"".join(map(self._write, events))

    def _of_task(self, kind: str, **members: Json) -> Mapping[str, Json]:
        named = {"taskId": str(self._id), "contextId": self._id.thread}
        return {kind: {**named, **members}}


async def first_of(pipe: Pipe, stream: EventStream, *, begins: bool) -> bytes:
    """Wait until it is known what an input comes to, or its run begins; gives what came so far.

    An answer that another one with the same words is being carried out for waits for that.

    Args:
        pipe: what the run writes.
        stream: what it is told in.
        begins: whether the input is to begin a task: then it answers none.

    Raises:
        Fault: it was refused.
        StoreUnavailable: the store did not answer.
    """
    try:
        came = chunk = await pipe.read()
        while isinstance(stream.ruling, Join) and chunk:
            came += (chunk := await pipe.read())
    except Refused as error:
        raise fault_of(error) from None
    check_not_refused(stream)
    if begins and isinstance(stream.ruling, AskAgain):
        raise Fault.of("INTERRUPT_PENDING", _ASKS)
    return came


def check_not_refused(stream: EventStream) -> None:
    """Let an input pass that began a run, or is told what another one came to.

    Raises:
        Fault: it was refused.
    """
    if isinstance(stream.ruling, Reject):
        raise Fault.of(stream.ruling.code, stream.ruling.message)


def note_of(stream: EventStream) -> str | None:
    """What is to be said of where a task stands: why it failed, or asks again."""
    if isinstance(stream.ruling, AskAgain):
        return stream.ruling.misunderstood
    last = stream.terminal
    if last is None or last["type"] != "RUN_ERROR":
        return None
    return f"{last['code']}: {last['message']}"


def _text_of(artifact: Mapping[str, Any]) -> str:
    return "".join(as_text(as_object(part).get("text")) for part in artifact.get("parts", ()))
