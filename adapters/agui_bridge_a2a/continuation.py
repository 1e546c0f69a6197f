"""What is kept of a task from one run to the next: where it is, what it asks, what was told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agui_bridge.protocol.threads.records import Json

_MOST: Final = 2_000
"""Messages and artifacts of one task that are remembered; of more the oldest may be told again."""


def digest_of(value: Json) -> str:
    """A short name of a value, which tells nothing of it."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass
class Told:
    """What clients were told of a task: a server tells all of it again with every look at it.

    Attributes:
        messages: digests of messages.
        texts: by artifact, how much of its text, and the digest of that.
        others: by artifact, the digest of its other parts.
    """

    messages: dict[str, None] = field(default_factory=dict)
    texts: dict[str, tuple[int, str]] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    def is_new(self, message: Mapping[str, Any]) -> bool:
        """Whether a message was not told; from now on it was."""
        # Some servers stream one message under one id, piece by piece.
        name = digest_of([message.get("messageId"), message.get("parts")])
        new = name not in self.messages
        self.messages[name] = None
        return new

    def rest_of(self, artifact: str, text: str) -> tuple[str, bool]:
        """What of an artifact's whole text is to be told, and whether it goes on with what was."""
        size, digest = self.texts.get(artifact, (0, ""))
        goes_on = size > 0 and digest_of(text[:size]) == digest
        self.texts[artifact] = (len(text), digest_of(text))
        return (text[size:], True) if goes_on else (text, False)

    def to_json(self) -> dict[str, Json]:
        """As JSON, without the oldest of very many."""
        return {
            "messages": [*self.messages][-_MOST:],
            "texts": {name: [*told] for name, told in [*self.texts.items()][-_MOST:]},
            "others": dict([*self.others.items()][-_MOST:]),
        }

    @classmethod
    def from_json(cls, kept: Json) -> Told:
        """From what `to_json` gave."""
        texts = {name: (size, digest) for name, (size, digest) in kept["texts"].items()}
        return cls(dict.fromkeys(kept["messages"]), texts, dict(kept["others"]))


@dataclass(frozen=True)
class Continuation:
    """A task that waits for people.

    Attributes:
        task: its id there.
        context: of the conversation there.
        asked: names what it asks.
        auth: whether it waits for somebody to sign in elsewhere.
        form: whether the question has a schema of its own: then the answer is data.
        told: what clients were told of it.
        later: parts of messages that came along with answers: said once the task is over.
        interrupts: ids of those that it asks by the bridge's extension; else none.
    """

    task: str
    context: str
    asked: str
    auth: bool
    form: bool
    told: Told
    later: tuple[Mapping[str, Json], ...] = ()
    interrupts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """As a pause keeps it."""
        return {
            "task": self.task,
            "context": self.context,
            "asked": self.asked,
            "auth": self.auth,
            "form": self.form,
            "told": self.told.to_json(),
            "later": [dict(part) for part in self.later],
            "interrupts": [*self.interrupts],
        }

    @classmethod
    def from_json(cls, kept: Json) -> Continuation:
        """From what `to_json` gave."""
        told = Told.from_json(kept["told"])
        lists = {name: tuple(kept.get(name, ())) for name in ("later", "interrupts")}
        return cls(**{**kept, "told": told, **lists})
