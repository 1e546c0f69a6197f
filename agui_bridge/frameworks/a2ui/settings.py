"""What an agent's author says of A2UI surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agui_bridge.errors import ConfigurationError

_GUIDELINES: Final = ("generation_guidelines", "design_guidelines", "composition_guide")
_ATTEMPTS: Final = 3
_MOST_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class A2UI:
    """Lets an agent make surfaces of a page: https://a2ui.org.

    Args:
        always: also for clients that do not offer it.
        attempts: how often the model may write a surface until one is valid, 1 to 10.
        catalog: the components that it may use, `{"catalogId": …, "components": {name: JSON
            Schema}}`; by default the page's.
        catalog_id: the catalog's id on surfaces; by default the catalog's own, else A2UI's basic
            catalog.
        surface_id: of surfaces that the model gives no id.
        guidelines: what the model reads, by `generation_guidelines`, `design_guidelines` (of
            either there is a text, which yours replaces, "" leaves it out) and
            `composition_guide`.
        tool_description: what the agent reads of the tool.

    Raises:
        ConfigurationError: one of them is none of these.
    """

    always: bool = False
    attempts: int = _ATTEMPTS
    catalog: Mapping[str, Any] | None = None
    catalog_id: str = ""
    surface_id: str = ""
    guidelines: Mapping[str, str] = field(default_factory=dict)
    tool_description: str = ""

    def __post_init__(self) -> None:
        """Check the options."""
        if type(self.attempts) is not int or not 1 <= self.attempts <= _MOST_ATTEMPTS:
            raise ConfigurationError(
                f"attempts should be a whole number from 1 to {_MOST_ATTEMPTS}, "
                f"not {self.attempts!r:.80}."
            )
        if unknown := sorted(set(self.guidelines) - set(_GUIDELINES)):
            raise ConfigurationError(
                f"guidelines has {unknown}: it may have {', '.join(_GUIDELINES)}."
            )
        if self.catalog is not None and not isinstance(self.catalog.get("components"), Mapping):
            raise ConfigurationError(
                'catalog should be {"catalogId": …, "components": {name: JSON Schema}}.'
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> A2UI:
        """What the same settings are that AG-UI's own servers take.

        Args:
            given: by `inject_a2ui_tool`, `catalog`, `default_catalog_id`, `default_surface_id`,
                `guidelines`, `recovery` and `tool_description`.
        """
        recovery = given.get("recovery") or {}
        guidelines = given.get("guidelines") or {}
        return cls(
            always=bool(given.get("inject_a2ui_tool")),
            attempts=recovery.get("maxAttempts", _ATTEMPTS),
            catalog=given.get("catalog"),
            catalog_id=given.get("default_catalog_id") or "",
            surface_id=given.get("default_surface_id") or "",
            guidelines={name: text for name, text in guidelines.items() if text is not None},
            tool_description=given.get("tool_description") or "",
        )


WHERE_OFFERED: Final = A2UI()
"""What counts by default: a surface where the client offers it, nothing elsewhere."""
