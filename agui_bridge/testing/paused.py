"""A conversation that waits for people, and what is carried out from there on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agui_bridge.adapters import Pause
from agui_bridge.protocol.threads.records import Json
from agui_bridge.testing.conversation import Conversation, Stream
from agui_bridge.testing.process import Process
from agui_bridge.testing.scenario import AdapterScenario
from agui_bridge.testing.verdicts import expect

__all__ = ["Paused"]


@dataclass(frozen=True, eq=False)
class Paused:
    """A conversation that waits for people.

    Attributes:
        process: where it is held.
        conversation: by which it is answered.
        asked: the stream that ended with the questions.
        pause: what the adapter yielded.
        scenario: of the check.
        before: how much had been carried out when it paused.
    """

    process: Process
    conversation: Conversation
    asked: Stream
    pause: Pause
    scenario: AdapterScenario
    before: int

    async def within(self, process: Process) -> Paused:
        """The same in another process, as from now."""
        before = len(await self.scenario.executions())
        conversation = process.conversation(self.conversation.thread)
        return replace(self, process=process, conversation=conversation, before=before)

    @property
    def shown(self) -> list[dict[str, Json]]:
        """The arguments that people are shown, of each call."""
        return [dict(ask.tool_call.args) for ask in self.pause.asks if ask.tool_call is not None]

    async def answer(self, *payloads: Json, of: str = "") -> Stream:
        """Answer the questions, in their order; with `of`, the run must go well.

        Raises:
            Failed: there are not so many questions, or the run, which is called `of`, ends
                neither with success nor with new questions.
        """
        return self._heard(await self.conversation.answer(self.asked, *payloads), of)

    async def agree(self, of: str = "") -> Stream:
        """Answer so that the adapter goes on; `of` and errors as for `answer`."""
        return await self.answer(self.scenario.yes, of=of)

    async def cancel(self, of: str = "") -> Stream:
        """Cancel the questions; `of` and errors as for `answer`."""
        return self._heard(await self.conversation.cancel(self.asked), of)

    async def done(self) -> Sequence[Json]:
        """What has been carried out since."""
        return (await self.scenario.executions())[self.before :]

    async def expect_nothing_done(self, though: str) -> None:
        """Fail the check if something has been carried out since.

        Raises:
            Failed: it has; `though` says why it must not have.
        """
        done = await self.done()
        expect(not done, f"{though}, and still it carried out {done}")

    def _heard(self, stream: Stream, of: str) -> Stream:
        if of:
            self.process.expect_ending(stream, "success", "interrupt", of=of)
        return stream
