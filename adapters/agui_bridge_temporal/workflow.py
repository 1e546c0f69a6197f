"""For who writes a workflow: what tells people something, asks them, and has their answers.

A workflow in another language implements the same query and the same two updates: docs/temporal.md.
Nothing of the bridge is imported here: Temporal's sandbox imports it anew for each workflow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from temporalio import workflow

__all__ = ["ConversationWorkflow", "Decision"]

_MOST_TOLD = 200
_MOST_BYTES = 1_000_000
"""What one query gives at most of what was told: at Temporal it may have 2 MB with all else."""

_DECISION = ("status", "args", "payload", "reason", "actor")
_SHOWN = {True: ("tool", "args"), False: ("message", "schema")}
"""What an answer is about, of a question that has a tool, and of one that has none."""


@dataclass(frozen=True)
class Decision:
    """What people decided.

    Attributes:
        question: the id of the question.
        status: `approved`, `declined`, `answered`, `cancelled` or `expired`.
        args: what an approved call is to be executed with: as it was shown, or edited.
        payload: the answer to a question.
        reason: why it was declined, where somebody said.
        actor: who decided, where that is known.
    """

    question: str
    status: str
    args: Mapping[str, Any] = field(default_factory=dict)
    payload: Any = None
    reason: str | None = None
    actor: str | None = None

    @property
    def approved(self) -> bool:
        """Whether the call may be executed, once."""
        return self.status == "approved"

    @property
    def answered(self) -> bool:
        """Whether `payload` is an answer."""
        return self.status == "answered"


class _Conversation:
    """What one workflow has told, asked and heard."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.open: dict[str, dict[str, Any]] = {}
        self.decided: dict[str, dict[str, Any]] = {}
        self.heard: list[dict[str, Any]] = []
        self.asked = 0
        self.listens = False


class ConversationWorkflow:
    """A mixin for workflows that talk with people through agui-bridge.

    ::

        @workflow.defn
        class OrderWorkflow(ConversationWorkflow):
            @workflow.run
            async def run(self, start: dict[str, Any]) -> str:
                decision = await self.approve("order", {"item": start["message"]})
                if not decision.approved:
                    return "Nothing was ordered."
                done = await workflow.execute_activity(order, decision.args["item"], …)
                self.result(decision, done)
                return done

    Several questions may be open at once: they are asked together.
    """

    @cached_property
    def _conversation(self) -> _Conversation:
        return _Conversation()

    def tell(self, text: str) -> None:
        """Say something, as a part of the assistant's message.

        Args:
            text: for people.
        """
        self._conversation.told.append({"type": "text", "text": text})

    def progress(self, **content: Any) -> None:
        """Show how far it has come; it takes the place of what was shown before.

        Args:
            **content: JSON, for the frontend; `text` for people.
        """
        self._conversation.told.append({"type": "progress", "content": content})

    def result(self, decision: Decision, content: str) -> None:
        """Tell what came of a call that was approved.

        Args:
            decision: the approval.
            content: the result of the call.
        """
        told = {"type": "result", "question": decision.question, "content": content}
        self._conversation.told.append(told)

    async def approve(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        message: str = "",
        parameters: Mapping[str, Any] | None = None,
        within: timedelta | None = None,
    ) -> Decision:
        """Ask whether a tool may be called; execute it with the decision's `args` alone.

        Args:
            tool: its name.
            args: what it would be called with.
            message: for people.
            parameters: JSON Schema of the arguments: people may then edit them.
            within: how long it waits; then the status is `expired`.
        """
        asks = {"tool": tool, "args": dict(args), "message": message, "parameters": parameters}
        return await self._ask(asks, within)

    async def ask(
        self,
        message: str,
        schema: Mapping[str, Any] | None = None,
        *,
        within: timedelta | None = None,
    ) -> Decision:
        """Ask a question that is about no tool.

        Args:
            message: for people.
            schema: JSON Schema of the answer; by default an object with a `text`.
            within: how long it waits; then the status is `expired`.
        """
        return await self._ask({"message": message, "schema": schema}, within)

    async def message(self) -> Mapping[str, Any]:
        """Wait for the next message of the same conversation: `message`, `actor`, `forwardedProps`.

        A workflow that does not call this ends, and the next message starts another one.
        """
        talk = self._conversation
        talk.listens = True
        try:
            await workflow.wait_condition(lambda: bool(talk.heard))
        finally:
            talk.listens = False
        return talk.heard.pop(0)

    async def _ask(self, asks: dict[str, Any], within: timedelta | None) -> Decision:
        talk = self._conversation
        talk.asked += 1
        id = f"q{talk.asked}"
        until = None if within is None else (workflow.now() + within).timestamp()
        # After a reset Temporal gives the answers again, and the code may ask something else.
        if not _is_about(talk.decided.get(id, {}), asks):
            del talk.decided[id]
        talk.open[id] = {"id": id, "expiresAt": until, **asks}
        try:
            await workflow.wait_condition(lambda: id in talk.decided, timeout=within)
        except TimeoutError:
            # An answer of the same moment counts.
            talk.decided.setdefault(id, {"status": "expired"})
        finally:
            talk.open.pop(id, None)
            talk.decided.setdefault(id, {"status": "cancelled"})
        answer = talk.decided[id]
        return Decision(id, **{name: answer[name] for name in _DECISION if name in answer})

    # --- what the bridge calls ---

    @workflow.query(name="agui_bridge_told")
    def agui_bridge_told(self, offset: int) -> dict[str, Any]:
        """What was told from an offset on, and what is asked now.

        Args:
            offset: how much of what was told is known.
        """
        talk, info = self._conversation, workflow.info()
        told = _page_of(talk.told[offset : offset + _MOST_TOLD])
        return {
            "run": info.run_id,
            "told": told,
            "more": len(talk.told) > offset + len(told),
            "open": [asked for id, asked in talk.open.items() if id not in talk.decided],
            "decided": {id: answer.get("status") for id, answer in talk.decided.items()},
            "listens": talk.listens and not talk.heard,
        }

    @workflow.update(name="agui_bridge_answer")
    def agui_bridge_answer(self, answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Take the answers to all that was asked at once; gives those that stand.

        Args:
            answers: by the ids of the questions; `asked` is what was shown to who answers.
        """
        self._conversation.decided.update(answers)
        return answers

    @agui_bridge_answer.validator
    def _refuse_what_was_decided(self, answers: dict[str, dict[str, Any]]) -> None:
        # Not what has not been asked: after a reset an answer may come before its question does.
        talk = self._conversation
        decided = [id for id in answers if id in talk.decided]
        if decided:
            raise ValueError(f"already decided: {', '.join(decided)}")
        # Compared here and not where it is taken: what was accepted stands in a replay, too, where
        # later code has other words for the same question.
        others = [id for id in answers if not _is_about(answers[id], talk.open.get(id, {}))]
        if others:
            raise ValueError(f"about something else: {', '.join(others)}")

    @workflow.update(name="agui_bridge_say")
    def agui_bridge_say(self, said: dict[str, Any]) -> None:
        """Take the next message.

        Args:
            said: the message, who said it, and what clients forward.
        """
        self._conversation.heard.append(said)


def _is_about(answer: Mapping[str, Any], asks: Mapping[str, Any]) -> bool:
    """Whether an answer is for what is asked; one that does not say is for any."""
    shown = answer.get("asked")
    if shown is None or not asks:
        return True
    converter = workflow.payload_converter()
    # As JSON has it: a tuple is shown as a list.
    asked = converter.from_payload(converter.to_payload(dict(asks)))
    return all(asked.get(name) == shown.get(name) for name in _SHOWN["tool" in asked])


def _page_of(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As much of it as one query may give, and at least one thing."""
    size = 0
    for number, one in enumerate(told):
        size += len(json.dumps(one, default=str))
        if number and size > _MOST_BYTES:
            return told[:number]
    return told
