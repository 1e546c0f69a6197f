"""Whose questions a channel is told of: those of the scopes that it names, and nobody else's.

Scopes may be customers, and each may have a bob. So a plain name in a channel stands for somebody
of the one scope that the channel is told of. Where there are several, everybody whom it names says
theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox.access import scopes_of
from agui_bridge.protocol.threads.records import Principal

__all__ = ["EVERY", "Person", "ToldScopes", "check_people", "find_scopes"]

EVERY: Final = "*"
"""Among the scopes of a channel: any."""

Person = str | Principal
"""Whom a channel names: a plain name, or a principal, who has a scope."""

_MOST_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class ToldScopes:
    """The scopes whose questions a channel is told of.

    Attributes:
        names: of the scopes; with `EVERY` among them any.
    """

    names: frozenset[str]

    def __contains__(self, scope: str) -> bool:
        return scope in self.names or EVERY in self.names

    def __str__(self) -> str:
        return "every scope" if EVERY in self.names else _listed(self.names)

    @property
    def only(self) -> str | None:
        """The scope to which plain names belong; None where there may be several."""
        return next(iter(self.names)) if len(self.names) == 1 and EVERY not in self else None

    @property
    def first(self) -> str:
        """One of them, for what is about no question."""
        return min(self.names - {EVERY}, default=Principal().scope)


def find_scopes(
    named: Sequence[str] | None, known: Collection[str] | None, people: Collection[Person] = ()
) -> ToldScopes:
    """The scopes whose questions a channel is told of.

    They are those that it names; else the bridge's only scope; else those of the people whom it
    names, if each of them says theirs.

    Args:
        named: the channel's own word.
        known: the scopes that the bridge has; None: any.
        people: whom the channel names.

    Raises:
        ConfigurationError: nothing says which.
    """
    if named is not None:
        return ToldScopes(frozenset(named))
    if known is not None and len(known) == 1:
        return ToldScopes(frozenset(known))
    principals = [person for person in people if isinstance(person, Principal)]
    if people and len(principals) == len(people):
        return ToldScopes(frozenset(scope for one in principals for scope in scopes_of(one)))
    if known is None:
        why, such = "The function that authenticates may give any scope", Principal().scope
    else:
        why, such = f"There are several scopes ({_listed(known)})", min(known)
    raise ConfigurationError(
        f'{why}. Say whose questions this channel is told of: `scopes`, such as ["{such}"]; '
        f'["{EVERY}"] is all of them.'
    )


def check_people(people: Collection[Person], told: ToldScopes) -> None:
    """Refuse people of whom nobody knows for which scope they act, and those who could for none.

    Args:
        people: whom a channel names.
        told: the scopes whose questions it is told of.

    Raises:
        ConfigurationError: there is somebody like that.
    """
    for person in people:
        if isinstance(person, str):
            if told.only is None:
                raise ConfigurationError(
                    f"{person!r:.100} is a plain name, which stands for somebody of one scope, and "
                    f"this channel is told of {told}. Say theirs: Principal(SCOPE, NAME), or in a "
                    "file `{address: …, scopes: [SCOPE]}`."
                )
            continue
        scopes = scopes_of(person)
        if EVERY in scopes:
            raise ConfigurationError(
                f"{person.actor!r:.100} is of the scope {EVERY!r}: name their scopes one by one."
            )
        if not any(scope in told for scope in scopes):
            raise ConfigurationError(
                f"{person.actor!r:.100} is of {_listed(scopes)}, and this channel is told of "
                f"{told}: they would hear of nothing. Name the same scopes."
            )


def _listed(scopes: Collection[str]) -> str:
    shown = ", ".join(f"{scope!r:.100}" for scope in sorted(scopes)[:_MOST_SHOWN])
    return f"{shown}, …" if len(scopes) > _MOST_SHOWN else shown
