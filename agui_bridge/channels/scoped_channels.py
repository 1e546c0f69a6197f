"""The channels of a bridge, and whose questions each is told of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from agui_bridge.channels.channel import Channel
from agui_bridge.channels.scopes import EVERY, ToldScopes, check_people, find_scopes
from agui_bridge.errors import ConfigurationError

__all__ = ["ScopedChannels", "scopes_of_channel"]

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
