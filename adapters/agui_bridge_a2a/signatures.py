"""Signatures of agents' cards: whether one of the keys that the adapter was given has signed it.

A card is signed as JWS with a detached payload: the card itself, without its signatures and without
what is empty, in canonical JSON (RFC 8785). Keys come from the configuration alone: the address of
keys that a card names is never asked, since whoever forges a card names it.

Source: the A2A specification 1.0, section 8.4 ("Agent Card Signing").
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.a2a.wire import as_objects, as_text
from agui_bridge.errors import ConfigurationError, NotDelivered
from agui_bridge.protocol.threads.records import Json

_ALGORITHMS: Final = ("ES256", "ES384", "ES512", "EdDSA", "RS256", "RS384", "PS256", "PS384")
"""With a public and a private key; one that both sides share would let its reader sign."""

_MEMBERS: Final = frozenset(
    (
        *("name", "description", "supportedInterfaces", "provider", "version", "documentationUrl"),
        *("capabilities", "securitySchemes", "securityRequirements", "defaultInputModes"),
        *("defaultOutputModes", "skills", "iconUrl"),
    )
)
"""Of a card of 1.0. Servers add those of 0.3 for older clients, behind the signature."""

_LARGEST: Final = 2**53


class _NotCanonical(ValueError):
    """A number that this form is not made of here."""


class Signers:
    """The keys that may sign a card.

    Args:
        keys: public ones by their id (`kid`): PEM, or a JWK.

    Raises:
        ConfigurationError: one is no public key, or what reads keys is not installed.
    """

    def __init__(self, keys: Mapping[str, str | Mapping[str, Json]]) -> None:
        try:
            import jwt
            from cryptography.hazmat.primitives.serialization import load_pem_public_key
        except ImportError:
            raise ConfigurationError(
                "signed_by needs a library that checks signatures: pip install 'pyjwt[crypto]'."
            ) from None
        self._keys: dict[str, Any] = {}
        for name, key in keys.items():
            try:
                self._keys[name] = (
                    load_pem_public_key(key.encode())
                    if isinstance(key, str)
                    else jwt.PyJWK(dict(key)).key
                )
            except (ValueError, jwt.PyJWTError):
                raise ConfigurationError(
                    f"signed_by[{name!r:.60}] should be a public key, as PEM or a JWK."
                ) from None

    def signed_part(self, card: Mapping[str, Any]) -> Mapping[str, Any]:
        """What of a card is signed: all of it, or its members of 1.0.

        Raises:
            NotDelivered: no key has signed it.
        """
        whole = {name: value for name, value in card.items() if name != "signatures"}
        for signed in (whole, {name: whole[name] for name in whole.keys() & _MEMBERS}):
            try:
                payload = canonical(_without_empty(signed) or {}).encode()
            except (_NotCanonical, RecursionError, UnicodeEncodeError):
                continue
            if any(self._has_signed(each, payload) for each in as_objects(card.get("signatures"))):
                return signed
        raise NotDelivered(
            "The A2A agent's card is not signed by a key of the adapter's `signed_by`: nothing was "
            "sent."
        )

    def _has_signed(self, signature: Mapping[str, Any], payload: bytes) -> bool:
        import jwt

        head, sign = as_text(signature.get("protected")), as_text(signature.get("signature"))
        try:
            header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
            key = self._keys.get(header["kid"])
        except (ValueError, TypeError, KeyError, binascii.Error, RecursionError):
            return False
        if key is None:
            return False
        body = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
        try:
            jwt.PyJWS().decode(f"{head}.{body}.{sign}", key, algorithms=[*_ALGORITHMS])
        except (jwt.PyJWTError, ValueError, TypeError):
            return False
        return True


def canonical(value: Json) -> str:
    """A value as RFC 8785 writes it.

    Raises:
        _NotCanonical: it holds a number that is written otherwise there than here.
    """
    match value:
        case Mapping():
            names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
            return "{" + ",".join(f"{_text(n)}:{canonical(value[n])}" for n in names) + "}"
        case list():
            return "[" + ",".join(map(canonical, value)) + "]"
        case float() if value.is_integer() and abs(value) < _LARGEST:
            return str(int(value))
        case float() if 1e-4 <= abs(value) < 1e16:
            return repr(value)
        case float():
            raise _NotCanonical("a number that is very large, or very small")
        case int() if not isinstance(value, bool) and abs(value) >= _LARGEST:
            raise _NotCanonical("a number that is too large")
    return _text(value)


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _without_empty(value: Json) -> Json:
    """A value without empty texts, lists and objects; None for one that is empty itself."""
    if isinstance(value, Mapping):
        kept = {name: _without_empty(each) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each is not None} or None
    if isinstance(value, list):
        return [each for each in map(_without_empty, value) if each is not None] or None
    return None if value == "" else value
