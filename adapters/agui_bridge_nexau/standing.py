"""What a NexAU session is known to have of a conversation, as it is noted from run to run.

NexAU has no route that tells its history, and what it keeps of a run that was cut off depends on
the moment. So only what is certain is noted. Where nothing is, the session is left behind, and the
conversation goes on in a new one that is given the bridge's own history.

Source: recordings of NexAU 0.4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from agui_bridge.protocol.threads.records import Json


@dataclass(frozen=True, slots=True)
class Standing:
    """A session, and how far it has the conversation.

    Attributes:
        session: its id.
        at: id of the last message that its last run was begun with, "" before the first one.
        whole: whether it also has all that this run said; else it has nothing of that.
        said: whether this run said anything.
    """

    session: str
    at: str = ""
    whole: bool = True
    said: bool = False

    @classmethod
    def of(cls, memo: Json) -> Standing | None:
        """Read what was noted; None where nothing is known."""
        if not isinstance(memo, dict) or memo.keys() != set(cls.__slots__):
            return None
        return cls(**memo)

    @property
    def memo(self) -> Json:
        """To be noted."""
        return asdict(self)

    def missing(
        self, messages: Sequence[Mapping[str, Json]]
    ) -> Sequence[Mapping[str, Json]] | None:
        """What the session lacks of a conversation.

        Returns:
            The messages; None when the session has others than these, for the client has gone back
            to an earlier message.
        """
        ids = [message["id"] for message in messages]
        if self.at and self.at not in ids:
            return None
        later = messages[ids.index(self.at) + 1 :] if self.at else messages
        if not self.whole:
            return later
        if self.said and not any(message["role"] in ("assistant", "tool") for message in later):
            return None
        return [message for message in later if message["role"] == "user"]
