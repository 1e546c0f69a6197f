"""Approvals: the organisation's word on who may answer a question, whatever the agent says.

`@bridge.approvals` names the rule of each question, once, when it is stored. What an agent asks for
besides (`run.approve(…, approvers=…)`) narrows that rule and never widens it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agui_bridge.errors import AgentMistake, ConfigurationError
from agui_bridge.protocol.approvals.narrowing import lacks_approvers
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
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
        tool: of an approval the tool, else None.
        args: of an approval the proposed arguments, else None.
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
"""Names the rule of a question, sync or async; None where it has none. Where it raises, the
question is not stored and the run fails: a question without its rule could be answered by all."""


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
        answer = approvals(question)
        found: object = await answer if inspect.isawaitable(answer) else answer
    except (Exception, SystemExit) as error:
        # Out of a task of the engine's, sys.exit() would end the server.
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
        tool: of the tool; a question that is no approval of a tool does not fit.
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
