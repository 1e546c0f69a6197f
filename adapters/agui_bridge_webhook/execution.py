"""One execution of a workflow, as a run leaves it to the next; and the token of its callbacks.

The token is in the address that the workflow calls. It names the thread and the execution, and is
signed: whoever has it may tell of this execution, and of nothing else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from agui_bridge.protocol.threads.records import Json

_MOST_HEARD: Final = 500
"""Things that one execution may tell."""

_DOMAIN: Final = b"agui-bridge webhook callback\n"
"""Signed before each token, so that the same key may sign other things."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What is known of one execution.

    Attributes:
        id: the bridge's own name for it.
        until: when it is given up, in seconds since the epoch.
        remote: the tool's id of it, "" while it is not known.
        heard: ids of what it has told and a run has heard.
    """

    id: str
    until: float
    remote: str = ""
    heard: tuple[str, ...] = ()

    def having_heard(self, id: str, remote: str | None) -> Execution:
        """The same once it has told one thing more.

        Args:
            id: of what was told.
            remote: the tool's id of it, where it was told.
        """
        return replace(self, heard=(*self.heard, id), remote=remote or self.remote)

    @property
    def tells_too_much(self) -> bool:
        """Whether nothing more of it is heard."""
        return len(self.heard) >= _MOST_HEARD

    def to_json(self) -> dict[str, Json]:
        """As a run leaves it."""
        return {**asdict(self), "heard": [*self.heard]}

    @classmethod
    def from_json(cls, kept: Json) -> Execution:
        """From what `to_json` gave."""
        return cls(**{**kept, "heard": tuple(kept["heard"])})


@dataclass(frozen=True, slots=True)
class Token:
    """Whom a callback is for.

    Attributes:
        scope: the thread's.
        thread: its id.
        execution: the bridge's name for the execution.
    """

    scope: str
    thread: str
    execution: str

    def write(self, key: bytes, agent: str) -> str:
        """As text of letters, digits and `-_.`.

        Args:
            key: signs it.
            agent: whose it is.
        """
        named = json.dumps([self.scope, self.thread, self.execution], separators=(",", ":"))
        body = _base64(named.encode())
        return f"{body}.{_proof(key, agent, body)}"

    @classmethod
    def read(cls, text: str, keys: Sequence[bytes], agent: str) -> Token | None:
        """Read one; None where none of the keys has signed it for this agent.

        Args:
            text: as `write` gave it.
            keys: any of them counts.
            agent: whose it must be.
        """
        body, _, proof = text.partition(".")
        if not text.isascii():
            return None
        proofs = [hmac.compare_digest(_proof(key, agent, body), proof) for key in keys]
        if not any(proofs):
            return None
        try:
            named = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
            return cls(*named)
        except (binascii.Error, ValueError, TypeError):
            return None


def _proof(key: bytes, agent: str, body: str) -> str:
    signed = _DOMAIN + agent.encode() + b"\n" + body.encode("ascii")
    return _base64(hmac.digest(key, signed, hashlib.sha256))


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")
