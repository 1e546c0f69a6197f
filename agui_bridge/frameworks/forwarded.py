"""What clients forward (`forwardedProps`), as far as an agent's author trusts it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ag_ui.core import RunAgentInput

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import Json

FORWARDED: Final = "forwarded_props"
"""Under this name tools find it."""
_OURS: Final = frozenset({"agui_bridge", "command"})
"""Members that are for the bridge: signs of pages, and answers in LangGraph's form."""


class _Asked(Protocol):
    @property
    def input(self) -> RunAgentInput: ...


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Which of it reaches the agent.

    Args:
        names: the names that do; True for all, False for none: whoever calls may write anything.

    Raises:
        ConfigurationError: they are neither.
    """

    names: bool | Collection[str] = False

    def __post_init__(self) -> None:
        """Check the names."""
        names: Any = self.names
        is_list = isinstance(names, Collection) and not isinstance(names, str | Mapping)
        if not isinstance(names, bool) and not (
            is_list and all(isinstance(name, str) for name in names)
        ):
            raise ConfigurationError(
                f"forwarded_props should be a list of names, or True, not {names!r:.80}."
            )

    def of(self, run: _Asked) -> dict[str, Json]:
        """What a run's client forwards of these names.

        Args:
            run: the run.
        """
        props: Any = run.input.forwarded_props
        if not self.names or not isinstance(props, Mapping):
            return {}
        known = {name: value for name, value in props.items() if name not in _OURS}
        if self.names is True:
            return known
        return {name: value for name, value in known.items() if name in {*self._listed}}

    def beside(self, given: Mapping[str, Any], run: _Asked) -> dict[str, Any]:
        """What an author gives to tools, with this under `forwarded_props`; the author goes first.

        Args:
            given: by the author.
            run: the run.
        """
        found = self.of(run)
        return {**({FORWARDED: found} if found else {}), **given}

    @property
    def _listed(self) -> Collection[str]:
        return () if isinstance(self.names, bool) else self.names
