"""What a channel is: where people are told of questions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from agui_bridge.channels.notice import Notice
from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox.reference import scopes_of
from agui_bridge.protocol.argument_types import check_field_types
from agui_bridge.protocol.field_rules import NAME, FieldRule, check_fields, sequence_of
from agui_bridge.protocol.threads.records import Json, Principal

# --- whose questions a channel is told of: those of the scopes that it names, and nobody else's ---
#
# Scopes may be customers, and each may have a bob. So a plain name in a channel stands for somebody
# of the one scope that the channel is told of. Where there are several, everybody whom it names
# says theirs.

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


# --- a channel ---


class Undelivered(Exception):
    """A notice did not arrive, or nobody knows whether it did.

    Args:
        reason: for operators: no secret, no body of an answer.
        retry_after: seconds for which the whole channel shall rest; None leaves that to us.
        final: whether another try is pointless.
        gone: whether the channel's address is no more: nothing is sent there until the bridge is
            started anew.
        noted: what was noted before it failed: the next try is shown it.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after: float | None = None,
        final: bool = False,
        gone: bool = False,
        noted: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.final: bool = final or gone
        self.gone = gone
        self.noted = noted


@dataclass(kw_only=True)
class Channel(ABC):
    """Where people are told of questions.

    Attributes:
        scopes: whose questions it is told of, by name; `*` among them is any scope. None: those of
            the bridge's only scope, or where everybody whom it names is a principal, of theirs.
        by_default: whether it is told of questions whose approval rule names no channels.
        show_args: whether it shows a tool call's arguments; else the tool's name and the message.
        per_second: how many notices it takes in a second at most, from one process.
        tells_end: whether it is told how a question ended, too.
    """

    scopes: Sequence[str] | None = None
    by_default: bool = True
    show_args: bool = False
    per_second: float = 10.0
    tells_end: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
        check_fields(self, _FIELDS, error=ConfigurationError)
        check_field_types(self)
        if not 0 < self.per_second < float("inf"):
            raise ConfigurationError("channels: per_second must be a number above 0.")

    @abstractmethod
    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        """Send a notice; the same one may come again, with the same id.

        Args:
            notice: what to tell.

        Returns:
            What to note, to find the message again; None for nothing.

        Raises:
            Undelivered: it did not arrive.
        """

    def named_people(self) -> Collection[Person]:
        """Whom it names itself: plain names, and principals.

        A plain name stands for somebody of the channel's only scope, and is refused where it has
        several.
        """
        return ()

    async def aclose(self) -> None:  # noqa: B027 - not abstract: most channels hold nothing that is to be released
        """Release connections."""


_FIELDS: Final[Mapping[str, FieldRule]] = {
    "scopes": sequence_of('a list of scopes, such as ["team"],', NAME.fits, least=1).or_none(),
}


# --- the channels of a bridge, and whose questions each is told of ---

_NAME: Final = re.compile("[A-Za-z0-9_-]{1,64}")


class ScopedChannels(Mapping[str, Channel]):
    """The channels by name, which stands in addresses.

    Args:
        channels: by name.
        known: the scopes that the bridge has; None: any.

    Raises:
        ConfigurationError: a name is none, what it names is no channel, or nobody knows whose
            questions a channel is told of.
    """

    def __init__(self, channels: Mapping[str, Channel], known: Collection[str] | None) -> None:
        self._channels = dict(channels)
        self._known = known
        self.scopes: Mapping[str, ToldScopes] = {
            name: _checked(name, channel, known) for name, channel in channels.items()
        }
        """By channel the scopes whose questions it is told of."""

    def __getitem__(self, name: str) -> Channel:
        return self._channels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._channels)

    def __len__(self) -> int:
        return len(self._channels)

    def told_of(self, scope: str) -> Mapping[str, Channel]:
        """The channels that are told of a scope's questions.

        Args:
            scope: whose.
        """
        return {name: one for name, one in self._channels.items() if scope in self.scopes[name]}

    @property
    def gaps(self) -> list[str]:
        """What looks like a slip, in sentences: a scope of no channel, a channel for no scope."""
        if self._known is None or not self._channels:
            return []
        told = {scope for one in self.scopes.values() for scope in one.names}
        silent = [scope for scope in sorted(self._known) if not self.told_of(scope)]
        unknown = sorted(told - {EVERY, *self._known})
        return [
            *(f"No channel is told of the questions of scope {scope!r}." for scope in silent),
            *(f"Nobody here has the scope {scope!r}, which a channel names." for scope in unknown),
        ]


def scopes_of_channel(channel: Channel, known: Collection[str] | None) -> ToldScopes:
    """The scopes whose questions a channel is told of.

    Args:
        channel: the channel.
        known: the scopes that the bridge has; None: any.

    Raises:
        ConfigurationError: nobody knows which, or for which one somebody acts whom it names.
    """
    people = channel.named_people()
    told = find_scopes(channel.scopes, known, people)
    check_people(people, told)
    return told


def _checked(name: str, channel: Channel, known: Collection[str] | None) -> ToldScopes:
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"channels: {name!r:.100} is no name: use letters, digits, `-` and `_`, 64 at most."
        )
    if not isinstance(channel, Channel):
        raise ConfigurationError(
            f"channels: {name} must be a Webhook, Slack, Smtp, Teams or another Channel, "
            f"not a {type(channel).__name__}."
        )
    try:
        return scopes_of_channel(channel, known)
    except ConfigurationError as error:
        raise ConfigurationError(f"channels: {name}: {error}") from None
