"""Approvals: the organisation's word on who may answer a question, whatever the agent says.

`@bridge.approvals` names the rule of each question, once, when it is stored. What an agent asks for
besides (`run.approve(…, approvers=…)`) narrows that rule and never widens it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from agui_bridge.errors import AgentMistake, ConfigurationError
from agui_bridge.hooks import HookThreads
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, lacks_approvers
from agui_bridge.protocol.threads.records import Json

__all__ = ["Approvals", "ApprovalsFailed", "Match", "Question", "RuleList", "find_rule"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is about to be stored.

    Attributes:
        scope: whose thread it is.
        agent: name of the agent.
        thread_id: the conversation.
        asked_by: the actor who asked for the run.
        reason: `tool_call`, `input_required`, `confirmation` or `<framework>:<name>`.
        message: what people read.
        tool: the tool of the call that it is about, whether the call may run or anything else; None
            where it is about none.
        args: that call's arguments; of an approval those that are proposed. None without a call,
            or where they are no JSON object.
        metadata: what the agent tells the frontend.
    """

    scope: str
    agent: str
    thread_id: str
    asked_by: str
    reason: str
    message: str | None = None
    tool: str | None = None
    args: Mapping[str, Json] | None = None
    metadata: Mapping[str, Json] | None = None


Approvals = Callable[[Question], ApprovalRule | Awaitable[ApprovalRule | None] | None]
"""Names the rule of a question, async or plain (in a thread); None where it has none. Where it
raises, the question is not stored and the run fails: without its rule all could answer it."""


_THREADS: Final = HookThreads("approvals")


class ApprovalsFailed(AgentMistake):
    """Nobody could say who may answer a question, which was not asked."""


async def find_rule(approvals: Approvals | None, question: Question) -> ApprovalRule | None:
    """Ask who may answer a question.

    Args:
        approvals: the bridge's; None where it has none.
        question: what is about to be stored.

    Raises:
        ApprovalsFailed: it raised, or gave something that is no rule.
    """
    if approvals is None:
        return None
    about = repr(question.tool or question.reason)
    try:
        found: object
        if isinstance(approvals, RuleList):
            # It only compares names, sooner than a thread would begin.
            found = approvals(question)
        else:
            found = await _THREADS.call(approvals, question)
    except Exception as error:
        raise ApprovalsFailed(
            f"The approvals hook failed on the question about {about}, which was not asked."
        ) from error
    if found is None or isinstance(found, ApprovalRule):
        return found
    raise ApprovalsFailed(
        f"The approvals hook gave {found!r:.100} for the question about {about}, which was not "
        "asked: it gives an ApprovalRule or None."
    )


@dataclass(frozen=True, slots=True)
class Match:
    """Which questions a rule is for: those that fit every pattern that is given.

    Patterns are those of shells (`delete_*`), and tell capitals from small letters.

    Attributes:
        agent: of the agent's name.
        tool: of the tool; a question that is about no tool call does not fit.
        reason: of the question's reason.
    """

    agent: str | None = None
    tool: str | None = None
    reason: str | None = None

    def fits(self, question: Question) -> bool:
        """Whether a question is one of those.

        Args:
            question: what is about to be stored.
        """
        return all(
            pattern is None or (value is not None and fnmatchcase(value, pattern))
            for pattern, value in (
                (self.agent, question.agent),
                (self.tool, question.tool),
                (self.reason, question.reason),
            )
        )


class RuleList:
    """Approvals from a list, as a configuration file has one: the first rule that fits counts.

    ::

        bridge.approvals(
            RuleList([(Match(tool="delete_*"), ApprovalRule(approvers=("role:dba",), quorum=2))])
        )

    Args:
        rules: each with what it is for.

    Raises:
        ConfigurationError: nobody could ever satisfy one of them.
    """

    def __init__(self, rules: Iterable[tuple[Match, ApprovalRule]]) -> None:
        self.rules: tuple[tuple[Match, ApprovalRule], ...] = tuple(rules)
        for place, (_, rule) in enumerate(self.rules):
            lacking = lacks_approvers(rule)
            if lacking and not rule.escalate:
                raise ConfigurationError(f"approvals[{place}]: {lacking}.")

    def __call__(self, question: Question) -> ApprovalRule | None:
        """The first rule that fits a question."""
        return next((rule for match, rule in self.rules if match.fits(question)), None)
