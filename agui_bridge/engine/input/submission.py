"""An input on its way through the engine."""

from __future__ import annotations

from agui_bridge.engine.input.agent import Agent
from agui_bridge.engine.input.settings import DisconnectPolicy
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.dialects import ParsedInput
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from agui_bridge.protocol.wire.refusals import RefusalChoice

__all__ = ["Submission"]


@dataclass(frozen=True, slots=True)
class Submission:
    """One input for one thread.

    Attributes:
        agent: who shall answer.
        principal: the caller.
        parsed: the input, normalised.
        on_disconnect: what happens to the run when the caller goes away.
        refusals: how the request asks to be refused, apart from its input; None: it does not say.
        via: through what it came, for the history: see `AuditEntry`.
        heavy: whether it is so large that what is done with it takes turns.
        scope: whose thread it is, where a principal answers for another scope; None: its own.
    """

    agent: Agent
    principal: Principal
    parsed: ParsedInput
    on_disconnect: DisconnectPolicy = "stop"
    refusals: RefusalChoice | None = None
    via: str = "agui"
    heavy: bool = False
    scope: str | None = None

    @property
    def refused_as(self) -> RefusalChoice:
        """How it is refused: as the request says, else its input, else the agent."""
        return self.refusals or self.parsed.refusals or self.agent.settings.refusals

    @property
    def key(self) -> ThreadKey:
        """The thread that the input is for."""
        scope = self.principal.scope if self.scope is None else self.scope
        return ThreadKey(scope, self.agent.name, self.parsed.input.thread_id)

    @property
    def acts_as(self) -> Principal:
        """Who asks, as the run sees it: in the thread's scope, where all that it does belongs."""
        if self.scope is None:
            return self.principal
        return replace(self.principal, scope=self.scope)

    @property
    def run_id(self) -> str:
        """The run's id as the client chose it; clients re-use them."""
        return self.parsed.input.run_id
