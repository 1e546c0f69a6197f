"""References to questions: texts that carry a question's whole key, for paths, buttons and links.

A reference that was signed is an address: who sends it must still be let in. One that names a
person is a link: it stands for that person, until it expires. So a link must be signed, and is as
secret as a password. `find_question` gives the question, to those who see it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.engine.engine import Engine
from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey
from agui_bridge.stores.base import InterruptRow

_DOMAIN: Final = b"agui-bridge reference\n"
"""Signed before each reference, so that the same key may sign other things."""

_FEWEST_KEY_BYTES: Final = 16
_LONGEST: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Reference:
    """Names one question.

    Attributes:
        key: the thread that raised it.
        interrupt: its id there.
        actor: whom a link is for; None: it is no link.
        expires_at: when a link ends, in seconds since the epoch; None: with its key.
        roles: what the person was for approval rules when the link was made.
    """

    key: ThreadKey
    interrupt: str
    actor: str | None = None
    expires_at: float | None = None
    roles: frozenset[str] = frozenset()

    @property
    def is_link(self) -> bool:
        """Whether it stands for a person, so that it is good for nothing unsigned."""
        return self.actor is not None or self.expires_at is not None or bool(self.roles)

    @property
    def holder(self) -> Principal | None:
        """Whom a link stands for, in its question's scope; None: it names nobody."""
        if self.actor is None:
            return None
        return Principal(self.key.scope, self.actor, self.roles)


class References:
    """Writes and reads references.

    Args:
        keys: secrets of 16 bytes or more. The first signs, all verify: put a new one in front, and
            take the old one out when no link of its time is good any longer. Without any,
            references are unsigned, and there are no links.
        clock: gives the time, in seconds since the epoch.

    Raises:
        ConfigurationError: a key is too short.
    """

    def __init__(self, keys: Sequence[str] = (), clock: Callable[[], float] = time.time) -> None:
        self._keys = tuple(key.encode() for key in keys)
        self._clock = clock
        if any(len(key) < _FEWEST_KEY_BYTES for key in self._keys):
            raise ConfigurationError(
                f"inbox: a key has fewer than {_FEWEST_KEY_BYTES} bytes: make one with "
                "python -c 'import secrets; print(secrets.token_urlsafe(32))'."
            )

    @property
    def signed(self) -> bool:
        """Whether there is a key, so that there can be links."""
        return bool(self._keys)

    def write(self, reference: Reference) -> str:
        """A reference as text of letters, digits and `-_.`, fit for a path.

        Raises:
            ConfigurationError: it is a link, and there is no key to sign it.
        """
        if reference.is_link and not self._keys:
            raise ConfigurationError(
                "A link to a question needs a key to be signed with: Bridge(inbox=Inbox(keys=[…]))."
            )
        body = _encode(reference)
        return f"{body}.{_signature(self._keys[0], body)}" if self._keys else body

    def read(self, text: str) -> Reference:
        """Read a reference.

        Args:
            text: as `write` gave it.

        Raises:
            Refused: it was changed, cut off, or signed with no key of now (INVALID_REFERENCE), or
                it is a link whose time is over (REFERENCE_EXPIRED).
        """
        body, dot, signature = text.partition(".")
        if (
            len(text) > _LONGEST
            or bool(dot) is not self.signed
            or not self._proves(body, signature)
        ):
            raise _invalid()
        reference = _decode(body)
        if reference is None or (reference.is_link and not self.signed):
            raise _invalid()
        if reference.expires_at is not None and reference.expires_at <= self._clock():
            raise Refused("REFERENCE_EXPIRED", "The link has expired: ask for a new one.")
        return reference

    def _proves(self, body: str, signature: str) -> bool:
        if not (body.isascii() and signature.isascii()):
            return False
        # Every key is tried, so that the time does not say which one signed.
        proofs = [hmac.compare_digest(_signature(key, body), signature) for key in self._keys]
        return any(proofs) or not self._keys


def _signature(key: bytes, body: str) -> str:
    return _base64(hmac.digest(key, _DOMAIN + body.encode("ascii"), hashlib.sha256))


def _encode(reference: Reference) -> str:
    key = reference.key
    named: list[Json] = [key.scope, key.agent, key.thread, reference.interrupt]
    if reference.is_link:
        named += [reference.actor, reference.expires_at]
    if reference.roles:
        named.append(sorted(reference.roles))
    return _base64(json.dumps(named, ensure_ascii=False, separators=(",", ":")).encode())


def _decode(body: str) -> Reference | None:
    """What a text names; None when it is none that `_encode` could have made."""
    try:
        named = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(named, list) or len(named) not in (4, 6, 7) or find_forbidden(named):
        return None
    whole: tuple[Any, ...] = (*named, *(None, None, [])[len(named) - 4 :])
    scope, agent, thread, interrupt, actor, expires_at, roles = whole
    if not all(isinstance(part, str) for part in (scope, agent, thread, interrupt)):
        return None
    if not (actor is None or isinstance(actor, str)) or not _is_time(expires_at):
        return None
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in roles):
        return None
    reference = Reference(
        ThreadKey(scope, agent, thread), interrupt, actor, expires_at, frozenset(roles)
    )
    # Of the many texts that decode alike, one counts.
    return reference if _encode(reference) == body else None


def _is_time(value: Json) -> bool:
    if value is None:
        return True
    return isinstance(value, int | float) and value is not True and math.isfinite(value)


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _invalid() -> Refused:
    return Refused(
        "INVALID_REFERENCE",
        "The reference names no question: copy it whole, or list the questions again.",
    )


# --- whose questions a principal sees ---
#
# Those of its own scope, and of the scopes that it reviews.


def scopes_of(principal: Principal) -> tuple[str, ...]:
    """The scopes whose questions a principal sees, its own first."""
    return tuple(dict.fromkeys((principal.scope, *principal.reviews)))


async def find_question(engine: Engine, reference: Reference, principal: Principal) -> InterruptRow:
    """The question that a reference names, as it is stored.

    Raises:
        Refused: FORBIDDEN: it is somebody else's link; INTERRUPT_NOT_FOUND: there is no such
            question, or it is of a scope whose questions the principal does not see.
        StoreUnavailable: the store did not answer.
    """
    if reference.actor not in (None, principal.actor):
        raise Refused("FORBIDDEN", "This link was made for somebody else: use your own.")
    key = reference.key
    if key.scope in scopes_of(principal):
        loaded = await engine.store.load(key, [reference.interrupt])
        ask = loaded.interrupts.get(reference.interrupt)
        if ask is not None:
            row = InterruptRow(key, ask, ask.audit[0].at if ask.audit else 0.0)
            return (await engine.as_seen([row]))[0]
    raise Refused("INTERRUPT_NOT_FOUND", "There is no such question here.")
