"""What the framework's model is told: the conversation as it stands now, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from agui_bridge.protocol.threads.records import Json
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import expect
from agui_bridge.testing.scenario import strings_of

HEARING = Table(needs=("heard",))

_PICTURE: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mNwUWgCAAGSAOdbIfFtAAAAAElFTkSuQmCC"
)
"""A PNG of one point, in base64 that is the same in the alphabet for addresses."""


@HEARING.check(
    hint="Build the model's history from run.messages; where the framework keeps it itself, take "
    "out what run.superseded names, and whatever came of it."
)
async def regenerate(case: Case) -> None:
    """An answer asked anew, and an edited message, are answered without what they replace."""
    text = case.scenario.text
    async with case.process() as process:
        conversation = process.conversation()
        await process.expect_success(conversation, text)
        before = await conversation.messages()
        await process.expect_success(conversation, text)
        whole = await conversation.messages()
        expected = await _count(case, text)
        asked = whole[: len(before) + 1]
        for how, messages in (
            ("asked anew", asked),
            ("edited", [*asked[:-1], {**asked[-1], "id": "edited"}]),
        ):
            stream = await conversation.send(messages)
            process.expect_ending(stream, "success", of=f"the run of what was {how}")
            found = await _count(case, text)
            expect(
                found == expected,
                f"{how}, {text!r} was heard {found} times, and {expected} times before",
            )


@HEARING.check(
    hint="Tell the model all messages, those marked truncated, too; a framework "
    "that keeps it itself lacks what is in run.unkept.",
    needs=("slow", "heard"),
)
async def cut_text(case: Case) -> None:
    """After a stop the next turn knows the text that was cut off."""
    async with case.process() as process:
        conversation = process.conversation()
        stream = conversation.begin(case.scenario.slow)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(case.scenario.patience / 4):
                await stream.until("TEXT_MESSAGE_CONTENT")
        await process.stop(conversation, force=True)
        await stream.rest()
        await process.expect_success(conversation, case.scenario.text)
        expect(
            not stream.text or await _count(case, stream.text.strip()) > 0,
            f"{stream.text!r} was said before the stop, and is not heard after it",
        )


@HEARING.check(
    hint="Hand run.resume.new_messages to the framework with the decisions, or after them.",
    needs=("pause", "heard"),
)
async def along(case: Case) -> None:
    """A message that was sent along with the answer is heard, with the next one at the latest."""
    text = case.scenario.text
    async with case.paused() as paused:
        before = await _count(case, text)
        entries = paused.asked.entries(case.scenario.yes)
        stream = await paused.conversation.begin(text, entries).rest()
        paused.process.expect_ending(stream, "success", "interrupt", of="the run of both")
        done = await paused.done()
        if await _count(case, text) <= before:
            before += 1
            await paused.process.expect_success(paused.conversation, text)
        found = await _count(case, text)
    expect(found > before, f"{text!r} was sent along, and is not heard")
    expect(len(done) == 1, f"with the answer it carried out {done}")


@HEARING.check(
    hint="Leave messages with a subagentRunId out of the history of the agent above (run.turns() "
    "does): their calls are none of its own.",
    needs=("nested", "heard"),
    declared="approve",
)
async def nested_history(case: Case) -> None:
    """What a sub-agent called is not told to the agent above as a call of its own."""
    async with case.paused("nested") as paused:
        await paused.answer({"approved": True}, of="the approved run")
        await paused.process.expect_success(paused.conversation, case.scenario.text)
        call_id = paused.asked.asks[0].get("toolCallId", "")
        heard = await case.scenario.was_heard()
    expect(call_id not in set(strings_of(heard)), f"the nested call {call_id!r} was heard")


@HEARING.check(
    hint="Read content parts in all messages, not in the last one alone.",
    needs=("image", "heard"),
)
async def images(case: Case) -> None:
    """A picture is heard in its own turn, and in those after it."""
    source = {"type": "data", "value": _PICTURE, "mimeType": "image/png"}
    content = [{"type": "text", "text": case.scenario.image}, {"type": "image", "source": source}]
    async with case.process() as process:
        conversation = process.conversation()
        for turn, say in (("its own turn", content), ("the next turn", case.scenario.text)):
            stream = await conversation.begin(say).rest()
            process.expect_ending(stream, "success", of=f"the run of {turn}")
            expect(await _count(case, _PICTURE) > 0, f"the picture is not heard in {turn}")


async def _count(case: Case, text: str) -> int:
    """How often a text is in what the framework's model was told last."""
    return sum(found.count(text) for found in _texts(await case.scenario.was_heard()))


def _texts(value: Json) -> list[str]:
    """Every text in a JSON value, however short."""
    if isinstance(value, str):
        return [value]
    members: Any = value.values() if isinstance(value, dict) else value
    return [t for m in members for t in _texts(m)] if isinstance(value, dict | list) else []
