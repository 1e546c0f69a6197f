"""A run's events made into the chat API's frames, as they come."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from agui_bridge.agents.sentences.code import one_line
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import CODES, Refused, StoreError
from agui_bridge.http.chat.frames import Frames
from agui_bridge.http.chat.interrupt_state import state_of
from agui_bridge.http.chat.spoken_text import NewScanner, SpokenText
from agui_bridge.protocol.contract.requests import AskAgain, Join, Reject, Replay
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json, ThreadKey
from agui_bridge.protocol.wire.sse import KEEP_ALIVE, Decoder
from agui_bridge.surfaces.json_text import as_text

__all__ = ["ChatReply"]

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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._key = key
        self._pipe = pipe
        self._stream = stream
        self._frames = frames
        self._said = said
        self._clock = clock
        self._text = SpokenText(new_scanner)
        self._decoder = Decoder()
        self._finished: WireEvent | None = None
        self._failed: WireEvent | None = None
        self._spoke = self._ended = False

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
        """What the agent said to a message that came before, told as it was then."""
        after = itertools.dropwhile(lambda message: message["id"] != self._said, messages)
        reply = itertools.takewhile(lambda message: message["role"] != "user", [*after][1:])
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
