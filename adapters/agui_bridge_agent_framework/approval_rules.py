"""The rules of an agent's author that approve calls: the framework's approval middleware, here.

By itself `ToolApprovalMiddleware` asks about one call at a time, and its session remembers what a
person approves for good. Here people are asked about all at once, and the bridge remembers.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from agent_framework import AgentContext, Content, Message, MiddlewareBundle, ToolApprovalMiddleware

from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.private_names import PrivateName
from agui_bridge_agent_framework.arguments import ValuesForMiddleware, with_stand_ins
from agui_bridge_agent_framework.guard import INSTEAD, Guard, watching


class ApprovalRules(ToolApprovalMiddleware):
    """The author's middleware while the bridge watches: its rules approve, people all the rest.

    A call that a rule approves waits for the ones beside it that people are asked about, as it does
    without a bridge, and passes the gate: a policy may deny it or have people asked.

    Args:
        own: the author's. Where nobody watches, it stands here as it is.
        agent: the agent that has it.
        guard: of the run; None where the agent is one of a workflow.
    """

    def __init__(self, own: ToolApprovalMiddleware, agent: Any, guard: Guard | None) -> None:
        super().__init__(source_id=own.source_id, auto_approval_rules=own.auto_approval_rules)
        self.own = own
        self._agent = agent
        self._given = guard

    @property
    def _guard(self) -> Guard | None:
        return self._given or watching()

    async def process(
        self, context: AgentContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Run the agent until something has to be asked; the framework calls this around a run."""
        if self._guard is None:
            await self.own.process(context, call_next)
        else:
            await super().process(context, call_next)

    def _inject_collected_responses(self, messages: Sequence[Message], state: Any) -> list[Message]:
        calls = [one.function_call for one in state.collected_approval_responses]
        if (guard := self._guard) is not None:
            guard.approved_by_rule |= {str(one.call_id) for one in calls}
            approved = [(one.name, one.parse_arguments() or {}) for one in calls]
            self._agent.default_options = with_stand_ins(self._agent, approved).default_options
        return super()._inject_collected_responses(messages, state)

    async def _process_outbound_messages(
        self, messages: list[Message], state: Any, *, preserve_batch: bool = False
    ) -> bool:
        # None is queued: people are asked about all that no rule approves.
        return await super()._process_outbound_messages(messages, state, preserve_batch=True)

    async def _matches_auto_rule(self, request: Content) -> bool:
        guard, call = self._guard, request.function_call
        if guard is not None and call is not None and call.call_id in guard.asks:
            # The policy has people asked about it.
            return False
        return await super()._matches_auto_rule(request)


def with_rules(agent: Any, guard: Guard) -> Any:
    """The agent, or a copy of it whose approval middleware stands under a guard."""
    if not _has_rules(agent):
        return agent
    copied = copy.copy(agent)
    put_rules(copied, guard)
    return copied


def put_rules(agent: Any, guard: Guard | None) -> None:
    """Have an agent's own approval middleware stand under a guard.

    Args:
        agent: the agent.
        guard: of the run; None where the agent is one of a workflow.
    """
    if _has_rules(agent):
        others = [one for one in agent.middleware if not isinstance(one, ValuesForMiddleware)]
        agent.middleware = [ValuesForMiddleware(), *(_under(one, agent, guard) for one in others)]


def check_approvals(agent: Any) -> None:
    """Refuse an agent whose middleware approves calls in a way that is not the framework's.

    Raises:
        ConfigurationError: it has a class of its own for that.
    """
    for one in _members(getattr(agent, "middleware", None) or ()):
        if isinstance(one, ToolApprovalMiddleware) and not _is_known(one):
            raise ConfigurationError(
                f"The agent {agent.name or agent.id!r} has {type(one).__name__}, which approves "
                f"calls in a way of its own. {INSTEAD} ToolApprovalMiddleware itself may stay."
            )


def private_names_of_approvals() -> list[PrivateName]:
    """What this needs of the framework beyond its public API."""
    kind = ToolApprovalMiddleware
    bundled = dict.fromkeys(MiddlewareBundle.__init__.__code__.co_names)
    return [
        PrivateName(kind, "_inject_collected_responses", ("messages", "state")),
        PrivateName(kind, "_process_outbound_messages", ("messages", "state", "preserve_batch")),
        PrivateName(kind, "_matches_auto_rule", ("request",)),
        PrivateName(type("MiddlewareBundle", (), bundled), "_middleware"),
    ]


def _is_known(one: Any) -> bool:
    return type(one) in (ToolApprovalMiddleware, ApprovalRules)


def _has_rules(agent: Any) -> bool:
    return any(map(_is_known, _members(getattr(agent, "middleware", None) or ())))


def _members(middleware: Sequence[Any]) -> Iterator[Any]:
    for one in middleware:
        if isinstance(one, MiddlewareBundle):
            yield from one._middleware
        else:
            yield one


def _under(one: Any, agent: Any, guard: Guard | None) -> Any:
    if isinstance(one, MiddlewareBundle):
        made = copy.copy(one)
        made._middleware = tuple(_under(member, agent, guard) for member in one._middleware)
        return made
    if _is_known(one):
        return ApprovalRules(getattr(one, "own", one), agent, guard)
    return one
