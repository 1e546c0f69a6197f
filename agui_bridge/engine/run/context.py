"""What of a thread's conversation a run's agent is sent, and what the run's end tells of that.

A model's endpoint that refuses a request does not say which message it means. The one that the
input brought is **suspect**: the next run is not sent it. If that ends by itself, the message was
the reason, and is archived; if it is refused as well, the reason was another one, and the message
comes back. Unless what that run brought may be refused for itself: a second picture, or what the
endpoint says is against its policy.

Source: docs/contract.md, "Archived" and "Refused messages".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.messages.archived import (
    archived_for,
    as_archived,
    is_suspect,
    unarchived,
)
from agui_bridge.protocol.threads.run_ends import Ending, Failed, Finished

__all__ = ["Context", "Noted"]

_REASON = "refused"


@dataclass(frozen=True, slots=True)
class Noted:
    """What a run's end has noted on messages.

    Attributes:
        any: whether there is something that clients have not been told.
        returning: ids of messages that come back into the context.
        said: what the client is told of it, beside why the run failed; "" for nothing.
    """

    any: bool = False
    returning: tuple[str, ...] = ()
    said: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one run.

    Attributes:
        left_out: ids of the messages of the thread that its agent is not sent.
        suspects: those of them that are suspect, in order.
        tried: id of the archived message that its input brings again, which is sent.
        brought: ids of the user messages that its input brings; empty where it answers a question.
        length: how many messages the run begins with.
    """

    left_out: frozenset[str]
    suspects: tuple[str, ...]
    tried: str | None
    brought: tuple[str, ...]
    length: int

    @classmethod
    def of(cls, incoming: StartingConversation, history: History, *, starts: bool) -> Context:
        """What a run begins with.

        Args:
            incoming: what its input brings.
            history: the conversation, with that.
            starts: whether the input begins a run, and does not answer the questions of one.
        """
        out = incoming.left_out(history, starts=starts)
        left = [m for m in history.messages if m["id"] in out] if out else []
        said = [m["id"] for m in incoming.client.added if m["role"] == "user"]
        if (again := incoming.client.again) is not None:
            said.append(again)
        return cls(
            out,
            tuple(m["id"] for m in left if is_suspect(m)),
            incoming.tried_again if starts else None,
            tuple(said) if starts else (),
            len(history.ids),
        )

    def settle(self, history: History, ending: Ending) -> Noted:
        """Note on messages what the run's end says of them.

        Args:
            history: the run's.
            ending: how it ends.
        """
        if isinstance(ending, Finished):
            for suspect in self.suspects:
                history.rewrite(suspect, lambda message: as_archived(message, _REASON))
            if self.tried is not None:
                history.rewrite(self.tried, unarchived)
            return Noted(any=bool(self.suspects or self.tried))
        if not isinstance(ending, Failed) or ending.refused is None or not self.brought:
            return Noted()
        if len(history.ids) > self.length:
            # It said something, or called a tool, and was refused later.
            return Noted()
        messages = {m["id"]: m for m in history.messages if m["id"] in self.brought}
        own = ending.refused == "content" or any(map(_has_media, messages.values()))
        if self.suspects and not own:
            for suspect in self.suspects:
                history.rewrite(suspect, unarchived)
            return Noted(any=True, returning=self.suspects, said=_OTHER_REASON)
        for message in self.brought:
            history.rewrite(message, _suspected)
        return Noted(any=True, said=_SUSPECT)

    def keeps_memo(self, ending: Ending) -> bool:
        """Whether what the adapter noted is of the messages that the next run is sent."""
        if isinstance(ending, Failed) and ending.refused is not None:
            return False
        return self.tried is None or isinstance(ending, Finished)


_SUSPECT = "The next message is sent without this one: change it, or try it again."
_OTHER_REASON = "It is not for the message that was left out: that is sent again."


def _suspected(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message that was refused with its run; one that was archived for it stays so."""
    known = archived_for(message) is not None
    return dict(message) if known else as_archived(message, _REASON, suspect=True)


def _has_media(message: Mapping[str, Any]) -> bool:
    """Whether it has a part that is no text: a picture, a file."""
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") != "text" for part in content)
