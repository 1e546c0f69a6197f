"""Policies: the organisation's word on every tool call, whatever the agent says.

A policy sees each call before it is executed and allows it, asks people first, or denies it. Who
may run a call is told in four places:

1. `policy`: what a policy is shown, what it may say, and how it is asked.
2. `tool_gate`: what stands before each tool that an adapter executes, the policy among it.
3. `agents.function.policy_gate`: the same in function agents, which keep what was decided.
4. `engine.run.claim`: what people approved, until each call has its result.

Source: AG-UI's draft "Interrupt-Aware Run Lifecycle", "Policy Enforcement".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from agui_bridge.errors import AdapterError, AgentMistake
from agui_bridge.hooks import HookThreads
from agui_bridge.protocol.threads.records import Json, Principal

__all__ = ["CallDenied", "Policy", "PolicyFailed", "ProposedCall", "ToolHints", "Verdict", "judge"]


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What is said of a tool by who made it: an MCP server, for one. Nobody has checked it.

    Attributes:
        read_only: whether it changes nothing; None where nobody said.
        destructive: whether it may destroy something; None where nobody said.
        idempotent: whether calling it again changes nothing more; None where nobody said.
        open_world: whether it deals with things outside; None where nobody said.
        title: its name for people.
        server: the MCP server that it is of.
        trusted: whether the agent's author trusts who says so.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    title: str | None = None
    server: str | None = None
    trusted: bool = False


NO_HINTS: Final = ToolHints()


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call that is about to be executed.

    Attributes:
        agent: name of the agent.
        thread_id: the conversation.
        principal: who began the run, whoever answered its questions since.
        name: the tool.
        args: the arguments that would be executed: those that a person edited, if one did.
        approved: whether a person approved this very call with these arguments.
        approved_by: who did; of several, the last.
        approvers: everybody who did, in their order: several where the question's approval rule
            wants as many.
        hints: what is said of the tool, where anybody says something. Untrusted ones should make
            nothing easier.
    """

    agent: str
    thread_id: str
    principal: Principal
    name: str
    args: Mapping[str, Json]
    approved: bool = False
    approved_by: str | None = None
    approvers: tuple[str, ...] = ()
    hints: ToolHints = NO_HINTS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says; a bare "allow", "ask" or "deny" does too.

    Attributes:
        action: execute it, have a person approve it first, or don't execute it.
        reason: for `deny`, why: the agent and the client read it. For `ask`, what the person
            who is asked reads.
        editable: whether that person may edit the arguments, where the tool's parameters are
            known and the agent itself does not forbid it.
        expires_in: seconds until it can't be approved; None takes the agent's setting.
    """

    action: Literal["allow", "ask", "deny"]
    reason: str | None = None
    editable: bool = False
    expires_in: float | None = None


Policy = Callable[[ProposedCall], Verdict | str | Awaitable[Verdict | str]]
"""Judges a call, async or plain: then in a thread, where several may be judged at once. It may be
asked again on a resume, so it has no side effects; when it raises, nothing is executed and the run
fails. If that is the first thing that a resumed run comes to, its questions are open again, with
the answers dropped."""

_THREADS: Final = HookThreads("policy")

_VERDICTS: Final[Mapping[object, Verdict]] = {
    "allow": Verdict("allow"),
    "ask": Verdict("ask"),
    "deny": Verdict("deny"),
}


class CallDenied(AdapterError):
    """A tool call was not executed: the policy denied it, or nobody approved what it asked.

    The policy may also have stopped one that had begun; see `begun`.

    When the agent does not catch it, the run ends with RUN_ERROR AGENT_ERROR and this text.

    Attributes:
        tool: the tool.
        by: who said so.
        reason: why, if that is known.
        cause: why nobody decided: cancelled or expired; None when somebody did.
        begun: whether it had begun and asked in its middle: then it was executed in part, perhaps.
    """

    def __init__(
        self,
        tool: str,
        by: Literal["policy", "person"],
        reason: str | None = None,
        cause: Literal["cancelled", "expired"] | None = None,
        *,
        begun: bool = False,
    ) -> None:
        what = f"nobody approved it ({cause})" if cause else f"the {by} refused it"
        # A person's words are payload: they stay out of what is logged.
        why = f" {reason}" if reason and by == "policy" else ""
        came = "went no further" if begun else "was not executed"
        super().__init__(f"The tool call {tool!r} {came}: {what}.{why}")
        self.tool = tool
        self.by = by
        self.reason = reason
        self.cause = cause
        self.begun = begun


class PolicyFailed(AgentMistake):
    """A policy gave no verdict on a call, which was not executed."""


async def judge(policy: Policy, call: ProposedCall) -> Verdict:
    """Ask a policy.

    Args:
        policy: the bridge's.
        call: what is about to be executed.

    Raises:
        PolicyFailed: it raised, or said something that is no verdict.
    """
    try:
        found: object = await _THREADS.call(policy, call)
    except Exception as error:
        raise PolicyFailed(
            f"The policy failed on {call.name!r}, which was not executed."
        ) from error
    if isinstance(found, Verdict) and found.action in _VERDICTS:
        return found
    if isinstance(found, str) and found in _VERDICTS:
        return _VERDICTS[found]
    raise PolicyFailed(
        f"The policy said {found!r:.100} to {call.name!r}, which was not executed: a policy "
        'returns "allow", "ask", "deny" or a Verdict.'
    )
