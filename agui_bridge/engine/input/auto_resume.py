"""Auto-resume: a plain message of a person becomes the answer to the open question.

The question is said in the conversation, the reply is made into a payload before admission, and
`admit` treats it as the resume that a client would have sent: what claims it executes, once.

Source: Mastra's page "Network Approval"; docs/contract.md, rows 11 and 12, and "Auto-resume".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from ag_ui.core import (
    RunAgentInput,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from agui_bridge.adapters import Run
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Agent, Submission, receipt_of
from agui_bridge.hooks import HookThreads
from agui_bridge.protocol.answers.decisions import Answer, find_fault
from agui_bridge.protocol.answers.from_message import Reply, extract_by_rule
from agui_bridge.protocol.contract.requests import VIEW_REQUEST, AutoResume, Entry, Request
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer, ThreadStatus

logger: Final = logging.getLogger("agui_bridge")

EXTRACTOR_PATIENCE = 30.0
"""Seconds that an extractor may take."""

QuestionEvent = TextMessageStartEvent | TextMessageContentEvent | TextMessageEndEvent
"""A part of the message that says a question."""

_THREADS: Final = HookThreads("extract")

_NOT_UNDERSTOOD = "The message was not understood as an answer."
_APPROVAL = "A tool call is approved or declined explicitly, not by a message."
_RULED = "A tool call with an approval rule is decided on explicitly, not by a message."
_SLEEPS = "The run sleeps until its time, and a message does not wake it."
_SEVERAL = "Several questions are open: answer each of them explicitly."
_NO_SCHEMA = "This question can't be answered by a message."
_BEFORE = "The message does not follow the question."


async def request_of(
    submission: Submission, incoming: StartingConversation, elsewhere: bool = False
) -> Request:
    """An input as admission sees it, its message read as an answer where it may be one.

    Args:
        submission: the input.
        incoming: what it brings to its thread.
        elsewhere: whether another process holds the pause that the thread is in.
    """
    return Request(
        entries=submission.parsed.entries,
        has_new_message=incoming.has_new_message,
        answers_singly=submission.parsed.dialect.answers_singly,
        brings=incoming.client.brings,
        ends_with_input=incoming.client.ends_with_input and not _asks_for_view(submission),
        acts_on_state=submission.agent.settings.acts_on_state and not submission.looks,
        looks=submission.looks,
        wakes=submission.wakes,
        takes_up=submission.takes_up,
        elsewhere=elsewhere,
        brings_part=incoming.brings_part,
        receipt=receipt_of(submission),
        unnamed_answer=submission.parsed.unnamed_answer,
        auto_resume=await _find_auto_resume(submission, incoming),
        skip_unknown=submission.agent.settings.skip_unknown_interrupts,
        principal=submission.principal,
        via=submission.via,
    )


def _asks_for_view(submission: Submission) -> bool:
    """Whether a tool's view asks for something: its page's list is nothing that it sends anew."""
    props = submission.parsed.input.forwarded_props
    return isinstance(props, Mapping) and isinstance(props.get(VIEW_REQUEST), Mapping)


def _wanted(agent: Agent, input: RunAgentInput) -> bool:
    """Whether messages may answer questions, by the agent's setting and the request."""
    mode = agent.settings.auto_resume
    if mode != "request":
        return mode == "on"
    props = input.forwarded_props
    return isinstance(props, Mapping) and props.get("autoResume") is True


async def _find_auto_resume(
    submission: Submission, incoming: StartingConversation
) -> AutoResume | None:
    """What a new message answers; None when auto-resume is off, or has nothing to do."""
    if (
        not _wanted(submission.agent, submission.parsed.input)
        or incoming.loaded.status is not ThreadStatus.INTERRUPTED
        or submission.parsed.entries
        or submission.parsed.unnamed_answer
        or not incoming.has_new_message
    ):
        return None
    asks = incoming.loaded.waiting
    follows = _follows(incoming)
    reason = _unanswerable(asks) or ("" if follows else _BEFORE)
    if reason:
        return AutoResume(follows_ask=follows, misunderstood=reason)
    (ask,) = asks
    answer = await _extract(submission, _reply(incoming, ask))
    if answer is None:
        return AutoResume(follows_ask=True, misunderstood=_NOT_UNDERSTOOD)
    fault = find_fault(ask, answer.payload)
    if fault is not None:
        return AutoResume(follows_ask=True, misunderstood=f"{_NOT_UNDERSTOOD[:-1]}: {fault}")
    entry = Entry(ask.id, RecordedAnswer("resolved", answer.payload))
    return AutoResume((entry,), follows_ask=True)


def _unanswerable(asks: Sequence[Interrupt]) -> str | None:
    if any(ask.lets_run for ask in asks):
        return _APPROVAL
    if any(ask.is_timer for ask in asks):
        return _SLEEPS
    if not all(ask.takes_message for ask in asks):
        return _RULED
    if len(asks) != 1:
        return _SEVERAL
    return _NO_SCHEMA if asks[0].response_schema is None else None


def _follows(incoming: StartingConversation) -> bool:
    """Whether the author of the message can have seen the agent's last words, which ask."""
    record = incoming.loaded.record
    # What came along with an answer that is held was said after the question.
    held = record.unheard if record is not None else ()
    turns = [
        m
        for m in incoming.loaded.messages
        if m.message["role"] in ("user", "assistant") and m.id not in held
    ]
    asking = turns[-1] if turns and turns[-1].message["role"] == "assistant" else None
    return asking is not None and asking.id in incoming.client.reached


def _reply(incoming: StartingConversation, ask: Interrupt) -> Reply:
    written = [m for m in incoming.client.added if m["role"] == "user"][-1]
    assert ask.response_schema is not None
    return Reply(
        _text(written.get("content")), ask.response_schema, ask.message, ask.reason, ask.metadata
    )


def _text(content: Json) -> str:
    """The text of a message; one with a picture or a file in it has none that can be judged."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(p["text"] for p in parts) if all(p.get("type") == "text" for p in parts) else ""


async def _extract(submission: Submission, reply: Reply) -> Answer | None:
    extract = submission.agent.extract
    try:
        answer: object
        if extract is None:
            answer = extract_by_rule(reply)
        else:
            async with asyncio.timeout(EXTRACTOR_PATIENCE):
                answer = await _THREADS.call(extract, reply)
    except Exception:
        logger.exception(
            "the extractor of agent %r failed; the question is asked again", submission.agent.name
        )
        return None
    if answer is not None and not isinstance(answer, Answer):
        kind = type(answer).__name__
        logger.error(
            "the extractor of agent %r should give an Answer or None, not %s",
            submission.agent.name,
            kind,
        )
        return None
    return answer


def question_in_words(
    agent: Agent,
    run: Run,
    asks: Sequence[Interrupt],
    messages: Sequence[Mapping[str, Json]],
) -> Sequence[QuestionEvent]:
    """The only question of a pause as a message, unless the agent has said it itself.

    A conversation answers what was said in it, and only a reply to a message that the client
    has is taken for an answer.
    """
    if len(asks) != 1 or not asks[0].takes_message or not _wanted(agent, run.input):
        return []
    question = asks[0].message
    if not question:
        return []
    for message in reversed(messages):
        if message["role"] == "user":
            break
        if message["role"] == "assistant" and question in str(message.get("content") or ""):
            return []
    own = run.mint()
    return [
        TextMessageStartEvent(message_id=own, role="assistant"),
        TextMessageContentEvent(message_id=own, delta=question),
        TextMessageEndEvent(message_id=own),
    ]
