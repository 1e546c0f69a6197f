"""What a channel is: where people are told of questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from agui_bridge.channels.notice import Notice
from agui_bridge.channels.scopes import Person
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.argument_types import check_field_types
from agui_bridge.protocol.field_rules import NAME, FieldRule, check_fields, sequence_of
from agui_bridge.protocol.threads.records import Json

__all__ = ["Channel", "Undelivered"]


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
