"""The address of a store in Redis, taken apart and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from agui_bridge.errors import ConfigurationError
from agui_bridge.frozen import dataclass

SCHEMES = ("redis", "rediss", "redis+cluster", "rediss+cluster")
FORM = "redis://[user:password@]host[:port][/db][?prefix=…]"

DEFAULT_PORT = 6379
SHARDS = {False: 1, True: 64}
"""Into how many hash slots a new store spreads its threads, on one server and on a cluster."""

MOST_SHARDS = 1024

TLS_OPTIONS = (
    "ssl_ca_certs",
    "ssl_certfile",
    "ssl_keyfile",
    "ssl_cert_reqs",
    "ssl_check_hostname",
)
SWITCH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is, and how to talk to it.

    Attributes:
        shown: the address without credentials, for messages and logs.
        tls: arguments of redis-py; empty without TLS.
        prefix: begins all keys.
        shards: as the address says, or None.
        timeout: seconds that any call may take.
        wait: how many replicas must have a commit before it counts.
        wait_timeout: seconds that they may take for it.
        connections: at most so many to one server.
        listen: whether processes tell each other what they wait for.
    """

    shown: str
    host: str
    port: int
    db: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    cluster: bool = False
    tls: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = "agui"
    shards: int | None = None
    timeout: float = 5.0
    wait: int = 0
    wait_timeout: float = 1.0
    connections: int = 50
    listen: bool = True

    @classmethod
    def parse(cls, url: str) -> Address:
        """Take a URL apart.

        Raises:
            ConfigurationError: something in it is wrong. Credentials are never in the text.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "localhost", parts.port or DEFAULT_PORT
        except ValueError:
            # What follows a wrong character may be the rest of a password.
            raise ConfigurationError(
                f"the address of the Redis store can't be read: write {FORM}, and special "
                "characters in user and password percent-encoded"
            ) from None
        if parts.scheme not in SCHEMES or parts.fragment or not url.startswith(f"{parts.scheme}:/"):
            raise ConfigurationError(
                f"this is not the address of a Redis store: write {FORM}, with one of "
                f"{', '.join(SCHEMES)}, and special characters in user and password "
                "percent-encoded"
            )
        cluster = parts.scheme.endswith("+cluster")
        tls = parts.scheme.startswith("rediss")
        db = _database(parts, cluster)
        options = _options(parts, tls)
        prefix = options.pop("prefix", "agui")
        if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", prefix):
            raise ConfigurationError(
                "`prefix` in the store's address: letters, digits and `_.:-`, 64 at most"
            )
        shown_host = f"[{host}]" if ":" in host else host
        address = cls(
            shown=f"{parts.scheme}://{shown_host}:{port}/{db}?prefix={prefix}",
            host=host,
            port=port,
            db=db,
            username=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
            cluster=cluster,
            tls=_tls(options) if tls else {},
            prefix=prefix,
            shards=int(_number(options, "shards", 1, MOST_SHARDS, whole=True)) or None,
            timeout=_number(options, "timeout", 0.05, 600) or 5.0,
            wait=int(_number(options, "wait", 1, 100, whole=True)),
            wait_timeout=_number(options, "wait_timeout", 0.001, 600) or 1.0,
            connections=int(_number(options, "connections", 1, 10_000, whole=True)) or 50,
            listen=_listens(options),
        )
        if address.wait and cluster:
            raise ConfigurationError("`wait` in the store's address works on no cluster")
        if address.wait and address.wait_timeout >= address.timeout:
            raise ConfigurationError(
                "`wait_timeout` in the store's address must be less than `timeout` "
                f"({address.timeout:g} seconds)"
            )
        return address

    @property
    def shards_of_new(self) -> int:
        """Into how many shards a new store is divided."""
        return self.shards or SHARDS[self.cluster]


def _database(parts: SplitResult, cluster: bool) -> int:
    text = parts.path.strip("/")
    if not re.fullmatch(r"[0-9]{0,4}", text):
        raise ConfigurationError(f"the path in the store's address is a number: write {FORM}")
    if cluster and text not in ("", "0"):
        raise ConfigurationError("a Redis cluster has database 0 only: leave the path out")
    return int(text or 0)


def _options(parts: SplitResult, tls: bool) -> dict[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    known = ["prefix", "shards", "timeout", "wait", "wait_timeout", "connections", "listen"]
    known += TLS_OPTIONS if tls else ()
    for name in options:
        if name not in known:
            hint = ", which needs rediss://" if name in TLS_OPTIONS else ""
            # The name may be half a password, when one was not percent-encoded.
            shown = f"`{name}`" if name in TLS_OPTIONS else "an option"
            raise ConfigurationError(
                f"the store's address has {shown} that is unknown{hint}: use {', '.join(known)}"
            )
    if len(options) < len(pairs):
        raise ConfigurationError("the store's address names an option twice")
    return options


def _number(
    options: Mapping[str, str], name: str, least: float, most: float, *, whole: bool = False
) -> float:
    """An option's number; 0 when it is not there or is 0."""
    text = options.get(name, "0")
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = -1
    if value and not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise ConfigurationError(
            f"`{name}` in the store's address is {kind} from {least:g} to {most:g}"
        )
    return value


def _listens(options: Mapping[str, str]) -> bool:
    listen = options.get("listen", "on")
    if listen not in ("on", "off"):
        raise ConfigurationError("`listen` in the store's address is on or off")
    return listen == "on"


def _tls(options: Mapping[str, str]) -> dict[str, Any]:
    tls: dict[str, Any] = {name: options[name] for name in TLS_OPTIONS if name in options}
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        if name in tls and not Path(tls[name]).is_file():
            raise ConfigurationError(f"`{name}` in the store's address names no file")
    requirement = tls.setdefault("ssl_cert_reqs", "required")
    if requirement not in ("required", "optional", "none"):
        raise ConfigurationError(
            "`ssl_cert_reqs` in the store's address is required, optional or none"
        )
    # Older versions of redis-py check no host name unless they are told to.
    check = tls.get("ssl_check_hostname", "false" if requirement == "none" else "true")
    if check not in SWITCH:
        raise ConfigurationError("`ssl_check_hostname` in the store's address is true or false")
    tls["ssl_check_hostname"] = SWITCH[check]
    return tls
