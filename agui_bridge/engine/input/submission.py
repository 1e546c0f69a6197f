"""An input on its way through the engine, and the agent that it is for."""

from __future__ import annotations

from dataclasses import dataclass

from agui_bridge.adapters import Adapter
from agui_bridge.engine.input.settings import DisconnectPolicy, Settings
from agui_bridge.policy import Policy
from agui_bridge.protocol.answers.from_message import Extractor
from agui_bridge.protocol.dialects import ParsedInput
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from agui_bridge.protocol.wire.refusals import RefusalChoice

__all__ = ["Agent", "Submission"]


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as it was registered.

    Attributes:
        name: its name in addresses.
        adapter: what runs it.
        description: for people, "" when there is none.
        settings: the bridge's settings with this agent's own changes.
        policy: judges its tool calls; None when there is no policy, or it is exempt.
        exempt: whether the bridge's policy does not apply to it.
        extract: makes answers of messages for auto-resume; None: by the built-in rules.
    """

    name: str
    adapter: Adapter
    settings: Settings
    description: str = ""
    policy: Policy | None = None
    exempt: bool = False
    extract: Extractor | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """One input for one thread.

    Attributes:
        agent: who shall answer.
        principal: who asks.
        parsed: the input, normalised.
        on_disconnect: what happens to the run when the caller goes away.
        refusals: how the request asks to be refused, apart from its input; None: it does not say.
    """

    agent: Agent
    principal: Principal
    parsed: ParsedInput
    on_disconnect: DisconnectPolicy = "stop"
    refusals: RefusalChoice | None = None

    @property
    def refused_as(self) -> RefusalChoice:
        """How it is refused: as the request says, else its input, else the agent."""
        return self.refusals or self.parsed.refusals or self.agent.settings.refusals

    @property
    def key(self) -> ThreadKey:
        """The thread that the input is for."""
        return ThreadKey(self.principal.scope, self.agent.name, self.parsed.input.thread_id)

    @property
    def run_id(self) -> str:
        """The run's id as the client chose it; clients re-use them."""
        return self.parsed.input.run_id
