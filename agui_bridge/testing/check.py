"""What a check is: an id, a sentence, a hint how to mend what fails it, and what it needs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from agui_bridge.adapters import AdapterCapabilities
from agui_bridge.testing.case import Case
from agui_bridge.testing.scenario import AdapterScenario

Body: TypeAlias = Callable[[Case], Awaitable[None]]


@dataclass(frozen=True)
class Check:
    """One thing that must hold of an adapter.

    Attributes:
        id: its name, such as `approve`.
        sentence: what must hold.
        hint: what to look at in an adapter that fails it.
        needs: attributes of the scenario without which it does not apply.
        declared: a capability without which it does not apply.
        optional: whether a suite passes over it where that is not declared.
        body: carries it out, and raises `CheckFailed`.
    """

    id: str
    sentence: str
    hint: str
    needs: tuple[str, ...]
    declared: str | None
    body: Body
    optional: bool = False

    def why_not(self, scenario: AdapterScenario, capabilities: AdapterCapabilities) -> str | None:
        """Why it does not apply to a scenario; None when it does.

        Args:
            scenario: of the adapter that is checked.
            capabilities: those that the adapter declares.
        """
        if self.optional and not getattr(capabilities, self.declared or ""):
            return self.whose
        for name in self.needs:
            if getattr(scenario, name) is None:
                return f"the scenario has no `{name}`"
        if self.declared is not None and not getattr(capabilities, self.declared):
            return f"the adapter does not declare `{self.declared}`"
        return None

    @property
    def whose(self) -> str:
        """Of which adapters it is, where it is optional."""
        return f"only on adapters that declare `{self.declared}`"


class Table:
    """The checks of one group, in the order in which they are written.

    Args:
        needs: of those that name none of their own.
    """

    def __init__(self, *, needs: tuple[str, ...] = ()) -> None:
        self.checks: list[Check] = []
        self._needs = needs

    def check(
        self,
        *,
        hint: str,
        needs: tuple[str, ...] | None = None,
        declared: str | None = None,
        optional: bool = False,
    ) -> Callable[[Body], Body]:
        """Add a function as a check; see `Check` for the arguments.

        Its name, with dashes, is the id; the first paragraph of its docstring is the sentence.
        """
        needed = self._needs if needs is None else needs

        def add(body: Body) -> Body:
            sentence = " ".join((inspect.getdoc(body) or "").partition("\n\n")[0].split())
            id = body.__name__.replace("_", "-")
            self.checks.append(Check(id, sentence, hint, needed, declared, body, optional))
            return body

        return add
