"""A run's events made into the chat API's frames, as they come; what it asks is no text of it."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agui_bridge.agents.sentences.code import one_line
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import CODES, Refused, StoreError
from agui_bridge.http.chat.frames import Frames, state_of
from agui_bridge.http.chat.repeated_answers import note_told
from agui_bridge.protocol.contract.requests import AskAgain, Hold, Join, Reject, Replay
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json, ThreadKey
from agui_bridge.protocol.wire.sse import KEEP_ALIVE, Decoder
from agui_bridge.surfaces.reading import as_text

if TYPE_CHECKING:  # Only agents that ask in words need it, and it takes long to import.
    from agui_bridge.agents.sentences.scanner import SentenceScanner

NewScanner = Callable[[], "SentenceScanner"]

_REPEATED = "INTERRUPT_PENDING"


class ChatReply:
    """Reads a run's pipe, and is read like one.

    Args:
        engine: where the run is.
        key: its thread.
        pipe: what it writes.
        stream: what it is told in.
        frames: the output mode.
        new_scanner: scans the agent's messages for requests; None holds nothing back.
        said: id of the message that the input brings; None for an answer.
        before: ids of the messages that there were before an answer, which another process may
            carry out: then the rest is told once it has.
    """

    def __init__(
        self,
        engine: Engine,
        key: ThreadKey,
        pipe: Pipe,
        stream: EventStream,
        frames: Frames,
        new_scanner: NewScanner | None,
        said: str | None = None,
        before: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._key = key
        self._pipe = pipe
        self._stream = stream
        self._frames = frames
        self._said = said
        self._before = before
        self._clock = clock
        self._text = SpokenText(new_scanner)
        self._decoder = Decoder()
        self._finished: WireEvent | None = None
        self._failed: WireEvent | None = None
        self._spoke = self._ended = self._is_elsewhere = False

    async def begin(self) -> bytes:
        """Wait until the run begins; gives what there is to send.

        A message on a session with a pending question begins nothing: the question is repeated.

        Raises:
            Refused: the input was refused, and nothing was changed.
            StoreUnavailable: the store did not answer.
        """
        while True:
            chunk = await self._pipe.read()
            text = self._take(chunk)
            ruling = self._stream.ruling
            self._is_elsewhere = isinstance(ruling, Hold) and ruling.joins
            if isinstance(ruling, Join) and chunk:
                continue
            if isinstance(ruling, Replay) and self._said is None:
                raise Refused("INTERRUPT_NOT_PENDING", "This question was answered before.")
            if isinstance(ruling, Reject) and ruling.code != _REPEATED:
                raise Refused(ruling.code, ruling.message)
            return self._told(text) or KEEP_ALIVE

    async def read(self) -> bytes:
        """Wait for frames; b"" is the end."""
        while not self._ended:
            chunk = await self._pipe.read()
            if not chunk:
                self._ended = True
                return await self._end()
            if frames := self._told(self._take(chunk)):
                return frames
        return b""

    @property
    def ended(self) -> bool:
        """Whether all has been read."""
        return self._ended

    def detach(self) -> None:
        """Stop reading; the run is told."""
        self._pipe.detach()

    def _take(self, chunk: bytes) -> str:
        """The text in a chunk. All that is ready becomes one frame: `content` grows with each."""
        pieces: list[str] = []
        for frame in self._decoder.feed(chunk):
            event: WireEvent = json.loads(frame.data)
            if event["type"] == "RUN_FINISHED":
                self._finished = event
            elif event["type"] == "RUN_ERROR":
                self._failed = event
            elif event["type"] == "MESSAGES_SNAPSHOT" and isinstance(self._stream.ruling, Replay):
                pieces += self._replied(event["messages"])
            else:
                pieces.append(self._text.hear(event))
        return "".join(pieces)

    def _replied(self, messages: Sequence[Mapping[str, Json]]) -> Iterator[str]:
        """What the agent said to a message that came before, told as it was then.

        Or to an answer that another process has carried out.
        """
        if self._is_elsewhere:
            messages = [message for message in messages if message["id"] not in self._before]
        else:
            after = itertools.dropwhile(lambda message: message["id"] != self._said, messages)
            messages = [*after][1:]
        reply = itertools.takewhile(lambda message: message["role"] != "user", messages)
        for message in reply:
            of_its_own = message["role"] == "assistant" and not message.get("subagentRunId")
            if of_its_own and message.get("content"):
                of = {"messageId": message["id"], "role": "assistant"}
                for kind, more in (("START", {}), ("CONTENT", {"delta": message["content"]})):
                    yield self._text.hear({"type": f"TEXT_MESSAGE_{kind}", **of, **more})
                yield self._text.hear({"type": "TEXT_MESSAGE_END", **of})

    def _told(self, text: str) -> bytes:
        self._spoke = self._spoke or bool(text)
        return self._frames.text(text, self._clock()) if text else b""

    async def _end(self) -> bytes:
        outcome = (self._finished or {}).get("outcome") or {}
        asked: str | None = None
        interrupt = b""
        try:
            if outcome.get("type") == "interrupt":
                ids = [each["id"] for each in outcome["interrupts"]]
                loaded = await self._engine.store.load(self._key, ids)
                # As it was asked, should it have been answered elsewhere meanwhile.
                waiting = (ask for ask in loaded.waiting if ask.id in ids)
                ask = next(waiting, loaded.interrupts[ids[0]])
                asked = ask.message
                if isinstance(self._stream.ruling, AskAgain):
                    # Its message says besides why it is asked again.
                    ask = replace(ask, message=outcome["interrupts"][0].get("message"))
                interrupt = self._frames.interrupt(state_of(self._key, ask))
                if self._said is not None:
                    note_told(self._engine, self._key, ask)
        except (StoreError, KeyError):
            self._failed = {"code": "STORE_UNAVAILABLE"}
        frames = [self._told(self._unasked(asked))]
        result = (self._finished or {}).get("result")
        if result is not None and not (self._spoke or interrupt):
            # These clients know text only, and this is all that the run gave.
            frames.append(self._told(as_text(result)))
        failed = self._failed is not None and self._failed["code"] != _REPEATED
        now = self._clock()
        if failed and self._failed is not None:
            code = self._failed["code"]
            cause = CODES[code].cause if code in CODES else ""
            frames.append(self._frames.error(code, self._failed.get("message", cause), now))
        stopped = outcome.get("type") == "cancelled"
        frames.append(interrupt or self._frames.done(now, stopped=stopped, failed=failed))
        return b"".join(frames)

    def _unasked(self, asked: str | None) -> str:
        """What was kept back and then not asked: nothing that the agent said is lost."""
        shown = set(asked.split("\n")) if asked is not None else set()
        lost = [each for each in self._text.withheld if one_line(each) not in shown]
        return "".join(f"\n\n{sentence}" for sentence in lost)


_PARAGRAPH = "\n\n"
"""Stands between two messages of one reply: frames of this API know no messages."""


class SpokenText:
    """What an agent says to the user in one run, without what it asks.

    A chat client shows the question in a form of its own, so it must not stand in the text too.
    Whether a sentence is a request shows at its end at the latest: of an agent that asks in words
    at most the current sentence is held back, of any other nothing.

    Args:
        new_scanner: makes a scanner for a message; None when nothing is held back.

    Attributes:
        withheld: the sentences that were kept back, in order.
    """

    def __init__(self, new_scanner: NewScanner | None) -> None:
        self.withheld: list[str] = []
        self._new_scanner = new_scanner
        self._open: dict[str, _Message] = {}
        self._said = False
        self._between = False

    def hear(self, event: WireEvent) -> str:
        """Take an event; gives the text that may be shown now.

        Only what the agent itself says counts: no reasoning, no message of another role, and no
        text of a sub-agent, which talks to its agent.
        """
        kind = event["type"]
        if kind == "TEXT_MESSAGE_CONTENT":
            message = self._open.get(event["messageId"])
            return self._shown(message.feed(event["delta"])) if message is not None else ""
        if kind == "TEXT_MESSAGE_START":
            if event.get("role", "assistant") == "assistant" and not event.get("subagentRunId"):
                scanner = self._new_scanner() if self._new_scanner is not None else None
                self._open[event["messageId"]] = _Message(scanner, self.withheld)
                self._between = self._said
            return ""
        if kind == "TEXT_MESSAGE_END":
            message = self._open.pop(event["messageId"], None)
            return self._shown(message.end()) if message is not None else ""
        if kind == "TOOL_CALL_START" and not event.get("subagentRunId"):
            # What follows a tool call is said anew.
            return "".join(self._shown(message.end()) for message in self._open.values())
        return ""

    def _shown(self, text: str) -> str:
        if not text:
            return ""
        if self._between:
            text = _PARAGRAPH + text
        self._said, self._between = True, False
        return text


class _Message:
    """One message: what was fed, less what a request may still be made of."""

    def __init__(self, scanner: SentenceScanner | None, withheld: list[str]) -> None:
        self._scanner = scanner
        self._withheld = withheld
        self._held = ""
        # Offset of the first character held, and requests seen.
        self._at = self._seen = 0

    def feed(self, delta: str) -> str:
        if self._scanner is None:
            return delta
        self._scanner.feed(delta)
        self._held += delta
        return self._pass(self._scanner.sentence_start)

    def end(self) -> str:
        if self._scanner is None:
            return ""
        self._scanner.end()
        return self._pass(self._scanner.offset)

    def _pass(self, until: int) -> str:
        assert self._scanner is not None
        passed = []
        for request in self._scanner.requests[self._seen :]:
            passed.append(self._take(request.start))
            self._withheld.append(self._take(request.start + len(request.sentence)))
        self._seen = len(self._scanner.requests)
        passed.append(self._take(until))
        return "".join(passed)

    def _take(self, until: int) -> str:
        taken, self._held = self._held[: until - self._at], self._held[until - self._at :]
        self._at = until
        return taken
