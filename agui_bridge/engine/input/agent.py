"""An agent as it was registered."""

from __future__ import annotations

from agui_bridge.adapters import Adapter
from agui_bridge.approvals import Approvals
from agui_bridge.engine.input.settings import Settings
from agui_bridge.frozen import dataclass
from agui_bridge.policy import Policy
from agui_bridge.protocol.answers.from_message import Extractor

__all__ = ["Agent"]


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as it was registered.

    Attributes:
        name: its name in addresses.
        adapter: what runs it.
        description: for people, "" when there is none.
        settings: the bridge's settings with this agent's own changes.
        policy: judges its tool calls; None when there is no policy, or it is exempt.
        approvals: says who may answer its questions; None: anyone of the scope.
        exempt: whether the bridge's policy does not apply to it.
        extract: makes answers of messages for auto-resume; None: by the built-in rules.
    """

    name: str
    adapter: Adapter
    settings: Settings
    description: str = ""
    policy: Policy | None = None
    approvals: Approvals | None = None
    exempt: bool = False
    extract: Extractor | None = None

    @property
    def read_only_tools(self) -> frozenset[str]:
        """Names of its tools that only look: as it declares them, and by its settings."""
        declared = getattr(self.adapter, "read_only_tools", ())
        return frozenset((*declared, *self.settings.read_only_tools))
