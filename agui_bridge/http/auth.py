"""Bearer tokens: the simplest way to identify the caller.

Source: RFC 6750, section 2.1.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request

from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.protocol.field_rules import OBJECT, refuse_unfit
from agui_bridge.protocol.threads.records import Principal

MIN_TOKEN_LENGTH: Final = 16
"""Characters of a token at least: shorter ones can be guessed."""

_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")
_SOURCES: Final = ("token_env", "token_sha256", "token")
_LISTS: Final = ("roles", "reviews")
_KEYS: Final = frozenset({*_SOURCES, *_LISTS, "scope", "actor"})


class BearerTokens:
    """An `authenticate` hook that knows its clients by a fixed list of tokens.

    ::

        Bridge(authenticate=BearerTokens({os.environ["ANN"]: Principal("team", "ann")}))

    Only digests of the tokens are kept. A request without a token and one with a wrong token get
    the same answer, and every digest is compared whatever is found.

    Args:
        tokens: who each token stands for; at least 16 printable ASCII characters without a space.

    Raises:
        ConfigurationError: there is no token, one is too short, or can't be sent.
    """

    def __init__(self, tokens: Mapping[str, Principal]) -> None:
        if not OBJECT.fits(tokens):
            rule = replace(OBJECT, words="a mapping of tokens to Principal")
            # A token is as secret in the wrong place.
            refuse_unfit("BearerTokens.tokens", rule, tokens, error=ConfigurationError, secret=True)
        self._take((_digest_of(token, _name(who)), who) for token, who in tokens.items())

    @classmethod
    def from_settings(cls, entries: Sequence[Mapping[str, Any]]) -> BearerTokens:
        """Make them from a configuration file's list.

        Args:
            entries: each with `actor`, `scope` ("default" if left out), perhaps `roles` and
                `reviews` (lists, see `Principal`), and one of `token_env` (the environment variable
                that holds the token), `token_sha256` (its digest in hexadecimal) and `token`.

        Raises:
            ConfigurationError: as above; an entry has an unknown key, none or several of the
                three, or names a variable that is not set.
        """
        made = cls.__new__(cls)
        made._take(_read_entry(entry, f"tokens[{i}]") for i, entry in enumerate(entries))
        return made

    def _take(self, pairs: Iterable[tuple[bytes, Principal]]) -> None:
        found: dict[bytes, Principal] = {}
        for digest, principal in pairs:
            if digest in found:
                both = f"{_name(found[digest])} and {_name(principal)}"
                raise ConfigurationError(f"{both} have the same token: give each its own.")
            found[digest] = principal
        if not found:
            raise ConfigurationError("BearerTokens has no token: nobody could ever come in.")
        self._principals = tuple(found.items())

    def __call__(self, request: Request) -> Principal:
        """Who sent the request.

        Raises:
            Refused: UNAUTHENTICATED.
        """
        sent = request.headers.getlist("authorization")
        scheme, _, token = (sent[0] if len(sent) == 1 else "").partition(" ")
        known = scheme.lower() == "bearer"
        digest = _sha256((token.strip(" ") if known else "").encode("latin-1", "replace"))
        found: Principal | None = None
        for candidate, principal in self._principals:
            if hmac.compare_digest(candidate, digest):
                found = principal
        if found is None:
            raise Refused("UNAUTHENTICATED", "Send a valid token as `Authorization: Bearer TOKEN`.")
        return found

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of those who are let in, and those that they review."""
        people = [principal for _, principal in self._principals]
        return frozenset(scope for one in people for scope in (one.scope, *one.reviews))

    def __repr__(self) -> str:
        """Say how many there are, and nothing of them."""
        return f"BearerTokens(<{len(self._principals)} tokens>)"


def scopes_given_by(authenticate: object) -> frozenset[str] | None:
    """The scopes that there are; None where a function of the user's may give any.

    Args:
        authenticate: the bridge's; None: everybody is the same principal.
    """
    if authenticate is None:
        return frozenset({Principal().scope})
    return authenticate.scopes if isinstance(authenticate, BearerTokens) else None


def _read_entry(entry: Mapping[str, Any], where: str) -> tuple[bytes, Principal]:
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"{where} must be a mapping, not {type(entry).__name__}.")
    if unknown := sorted(str(key) for key in entry.keys() - _KEYS):
        raise ConfigurationError(
            f"{where} has unknown keys: {', '.join(unknown)}; known: {', '.join(sorted(_KEYS))}."
        )
    sources = [key for key in _SOURCES if entry.get(key) is not None]
    if len(sources) != 1:
        raise ConfigurationError(f"{where} must have exactly one of {', '.join(_SOURCES)}.")
    for key in (*sources, "scope", "actor"):
        value = entry.get(key, "default" if key == "scope" else None)
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{where}.{key} must be a string that is not empty.")
    for key in _LISTS:
        if not _are_names(entry.get(key, ())):
            raise ConfigurationError(
                f"{where}.{key} must be a list of strings, none of them empty."
            )
    principal = Principal(
        entry.get("scope", "default"),
        entry["actor"],
        frozenset(entry.get("roles", ())),
        tuple(entry.get("reviews", ())),
    )
    value = entry[sources[0]]
    if sources[0] == "token_sha256":
        if not _DIGEST.fullmatch(value):
            raise ConfigurationError(f"{where}.token_sha256 must be 64 hexadecimal digits.")
        return bytes.fromhex(value), principal
    if sources[0] == "token_env":
        token = os.environ.get(value)
        if not token:
            raise ConfigurationError(f"{where}: the environment variable {value} is not set.")
        return _digest_of(token, f"{where} (from {value})"), principal
    return _digest_of(value, where), principal


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(n, str) and n for n in value)


def _digest_of(token: object, whose: str) -> bytes:
    """The digest of a token that is fit; what is said of another does not show it."""
    if not isinstance(token, str):
        kind = type(token).__name__
        raise ConfigurationError(f"The token of {whose} must be a string, not {kind}.")
    if len(token) < MIN_TOKEN_LENGTH:
        raise ConfigurationError(
            f"The token of {whose} has {len(token)} characters: take {MIN_TOKEN_LENGTH} at least, "
            'such as `python -c "import secrets; print(secrets.token_urlsafe())"` prints.'
        )
    if not _TOKEN.fullmatch(token):
        raise ConfigurationError(
            f"The token of {whose} can't be sent in a header: use printable ASCII, no spaces."
        )
    return _sha256(token.encode())


def _sha256(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()


def _name(principal: object) -> str:
    if not isinstance(principal, Principal):
        kind = type(principal).__name__
        raise ConfigurationError(f"A token must stand for a Principal, not {kind}.")
    return f"{principal.actor!r} of scope {principal.scope!r}"
