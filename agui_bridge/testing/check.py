"""What a check is: an id, a sentence, a hint how to mend what fails it, and what it needs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agui_bridge.adapters import AdapterCapabilities
from agui_bridge.testing.scenario import AdapterScenario

if TYPE_CHECKING:
    from agui_bridge.testing.case import Case

__all__ = ["Check", "CheckFailed", "check", "expect"]


class CheckFailed(AssertionError):
    """An adapter does not do what a check says; the message tells what was seen."""


@dataclass(frozen=True)
class Check:
    """One thing that must hold of an adapter.

    Attributes:
        id: its name, such as `approve`.
        sentence: what must hold.
        hint: what to look at in an adapter that fails it.
        needs: attributes of the scenario without which it does not apply.
        declared: a capability without which it does not apply.
        body: carries it out, and raises `CheckFailed`.
    """

    id: str
    sentence: str
    hint: str
    needs: tuple[str, ...]
    declared: str | None
    body: Callable[[Case], Awaitable[None]]

    def why_not(self, scenario: AdapterScenario, capabilities: AdapterCapabilities) -> str | None:
        """Why it does not apply to a scenario; None when it does.

        Args:
            scenario: of the adapter that is checked.
            capabilities: those that the adapter declares.
        """
        for name in self.needs:
            if getattr(scenario, name) is None:
                return f"the scenario has no `{name}`"
        if self.declared is not None and not getattr(capabilities, self.declared):
            return f"the adapter does not declare `{self.declared}`"
        return None


def check(
    id: str, *, hint: str, needs: tuple[str, ...] = (), declared: str | None = None
) -> Callable[[Callable[[Case], Awaitable[None]]], Check]:
    """Make a check of a function; the first paragraph of its docstring is its sentence."""

    def make(body: Callable[[Case], Awaitable[None]]) -> Check:
        sentence = " ".join((inspect.getdoc(body) or "").partition("\n\n")[0].split())
        return Check(id, sentence, hint, needs, declared, body)

    return make


def expect(holds: bool, seen: str) -> None:
    """Fail the check unless something holds.

    Raises:
        CheckFailed: it does not; with what was seen instead.
    """
    if not holds:
        raise CheckFailed(seen)
