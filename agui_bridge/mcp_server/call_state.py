"""What a call that waits for input needs to go on: the `requestState` of its results.

It names a thread of the caller's own scope, and grants nothing: whoever forges one can do what
they could with a message or an answer of their own. So it is not sealed, needs no key, and is good
after a restart and at every replica. Whether somebody may answer is decided anew each time.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from agui_bridge.protocol.json_values import find_forbidden

_VERSION: Final = "1"
_LONGEST: Final = 64 * 1024

Shown = Literal["opened", "left"]
"""What became of a question that was shown: its page was opened, or somebody let it be."""


@dataclass(frozen=True, slots=True)
class CallState:
    """Where a call stands.

    Attributes:
        agent: the agent's name.
        thread: the thread's id.
        said: id of the message that the call has sent; None: it sent none.
        rounds: how often the client came again without an answer, for one that is given elsewhere.
        shown: questions that need not be shown again, by id.
    """

    agent: str
    thread: str
    said: str | None = None
    rounds: int = 0
    shown: Mapping[str, Shown] = field(default_factory=dict)

    def write(self) -> str:
        """The state as a client keeps it."""
        value = [_VERSION, self.agent, self.thread, self.said, self.rounds, dict(self.shown)]
        text = json.dumps(value, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()

    @classmethod
    def read(cls, text: str) -> CallState | None:
        """A state that a client gave back; None where it is none."""
        if len(text) > _LONGEST:
            return None
        try:
            value: Any = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, ValueError, RecursionError):
            return None
        if not isinstance(value, list) or len(value) != 6 or find_forbidden(value) is not None:
            return None
        version, agent, thread, said, rounds, shown = value
        fits = (
            version == _VERSION
            and isinstance(agent, str)
            and isinstance(thread, str)
            and (said is None or isinstance(said, str))
            and isinstance(rounds, int)
            and isinstance(shown, dict)
            and all(how in get_args(Shown) for how in shown.values())
        )
        return cls(agent, thread, said, rounds, shown) if fits else None
