"""What a channel is: where people are told of questions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from agui_bridge.channels.notice import Notice
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import Json

__all__ = ["Channel", "Undelivered", "check_channels"]

_NAME: Final = re.compile("[A-Za-z0-9_-]{1,64}")


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
        by_default: whether it is told of questions whose approval rule names no channels.
        show_args: whether it shows a tool call's arguments; else the tool's name and the message.
        per_second: how many notices it takes in a second at most, from one process.
        tells_end: whether it is told how a question ended, too.
    """

    by_default: bool = True
    show_args: bool = False
    per_second: float = 10.0
    tells_end: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
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

    async def aclose(self) -> None:  # noqa: B027 - not abstract: most channels hold nothing that is to be released
        """Release connections."""


def check_channels(channels: Mapping[str, Channel]) -> Mapping[str, Channel]:
    """The channels of a bridge, whose names stand in addresses.

    Args:
        channels: by name.

    Raises:
        ConfigurationError: a name is none, or what it names is no channel.
    """
    for name, channel in channels.items():
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"channels: {name!r:.100} is no name: use letters, digits, `-` and `_`, 64 at most."
            )
        if not isinstance(channel, Channel):
            raise ConfigurationError(
                f"channels: {name} must be a Webhook, Slack, Smtp, Teams or another Channel, "
                f"not a {type(channel).__name__}."
            )
    return dict(channels)
