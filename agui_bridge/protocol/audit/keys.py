"""The keys that rows of the audit chain are sealed with."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.audit.canonical_json import canonical_json
from agui_bridge.protocol.threads.records import Json

__all__ = ["AuditKeys"]

_LEAST: Final = 32
"""Characters: as many as `secrets.token_hex(16)` has, 128 bits."""


class AuditKeys:
    """Keys of the audit chain: the first seals, all of them verify.

    Args:
        keys: secrets of 32 characters or more, newest first.

    Raises:
        ConfigurationError: there is none, one is too short, or stands there twice.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys or isinstance(keys, str):
            raise ConfigurationError("audit keys: give a list of one key or more, newest first.")
        for number, key in enumerate(keys, 1):
            if len(key) < _LEAST:
                raise ConfigurationError(
                    f"audit keys: key {number} has less than {_LEAST} characters. Make one with "
                    "python -c 'import secrets; print(secrets.token_urlsafe(32))'."
                )
        self._keys = {_id_of(key): key.encode() for key in keys}
        if len(self._keys) < len(keys):
            raise ConfigurationError("audit keys: a key stands there twice.")
        self.newest: str = next(iter(self._keys))
        """Id of the key that seals."""

    def knows(self, key_id: object) -> bool:
        """Whether there is a key of this id."""
        return key_id in self._keys

    def mac(self, key_id: str, row: Json) -> str:
        """The seal of a row: HMAC-SHA256 of its canonical JSON, in hexadecimal digits."""
        return hmac.digest(self._keys[key_id], canonical_json(row), "sha256").hex()

    def digest(self, key_id: str, content: Json) -> str:
        """A digest of what a row must not tell: of arguments, a message, an answer.

        Keyed, since a short content could be guessed from a plain digest.
        """
        text = b"digest:" + canonical_json(content)
        return hmac.digest(self._keys[key_id], text, "sha256").hex()

    def __repr__(self) -> str:
        return f"AuditKeys({', '.join(self._keys)})"


def _id_of(key: str) -> str:
    """A name of a key that tells nothing of it."""
    return hashlib.sha256(b"agui-bridge audit key:" + key.encode()).hexdigest()[:8]
