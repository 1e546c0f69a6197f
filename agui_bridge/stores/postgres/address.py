"""The address of a PostgreSQL store: what of it is ours, and how it may be shown."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode

from agui_bridge.errors import ConfigurationError
from agui_bridge.frozen import dataclass

SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")
"""How an address of PostgreSQL may begin."""

FORM = "`postgresql://user:password@host:5432/database?schema=name`"
"""What an address looks like."""

POOLERS = ("transaction", "session", "none")
LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class Address:
    """What an address says.

    Attributes:
        dsn: what the driver takes; holds the password.
        shown: the address without secrets, for errors and logs.
        schema: where the tables lie; None is the first schema of the search path.
        listen: whether to use LISTEN and NOTIFY.
        pooler: what stands between, if it is said: `transaction`, `session` or `none`.
        pool_size: the most connections at once, besides the one that listens.
        connect_timeout: seconds that connecting may take.
        command_timeout: seconds that a call may take in all.
    """

    dsn: str
    shown: str
    schema: str | None = None
    listen: bool = True
    pooler: str | None = None
    pool_size: int = 10
    connect_timeout: float = 5.0
    command_timeout: float = 10.0


def redacted(url: str) -> str:
    """An address without its passwords, however malformed it is."""
    # Up to the last @: a password may hold unescaped characters of any kind.
    shown = re.sub(r"(?<=://)([^:@/?]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    return re.sub(r"(?i)([?&][a-z_]*passw\w*=)[^&]*", r"\1***", shown)


def parse_address(url: str) -> Address:
    """Take our own options out of an address.

    Raises:
        ConfigurationError: an option is unknown in its value, or this is no such address.
    """
    shown = redacted(url)
    scheme, separator, rest = url.partition("://")
    if scheme not in SCHEMES or not separator:
        raise ConfigurationError(f"{shown!r} is not the address of a PostgreSQL store: use {FORM}")
    place, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    ours = _Options(options, shown)
    listen = ours.one_of("listen", ("on", "off"))
    pooler = ours.one_of("pooler", POOLERS)
    schema = ours.take("schema")
    if schema is not None and not 0 < len(schema.encode()) <= LONGEST_NAME:
        raise ConfigurationError(f"{shown!r}: a schema's name has 1 to {LONGEST_NAME} bytes")
    size = ours.number("pool_size", default=10)
    connect = ours.number("connect_timeout", default=5.0)
    command = ours.number("command_timeout", default=10.0)
    # SQLAlchemy's addresses call it so; the driver's own name is libpq's.
    if "ssl" in options:
        options["sslmode"] = options.pop("ssl")
    left = f"?{urlencode(options)}" if options else ""
    return Address(
        dsn=f"postgresql://{place}{left}",
        shown=shown,
        schema=schema,
        listen=listen != "off",
        pooler=pooler,
        pool_size=max(1, int(size)),
        connect_timeout=connect,
        command_timeout=command,
    )


class _Options:
    def __init__(self, options: dict[str, str], shown: str) -> None:
        self._options = options
        self._shown = shown

    def take(self, name: str) -> str | None:
        return self._options.pop(name, None)

    def one_of(self, name: str, words: tuple[str, ...]) -> str | None:
        word = self.take(name)
        if word is not None and word not in words:
            raise ConfigurationError(f"{self._shown!r}: `{name}` is one of {', '.join(words)}")
        return word

    def number(self, name: str, *, default: float) -> float:
        text = self.take(name)
        if text is None:
            return default
        if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
            raise ConfigurationError(f"{self._shown!r}: `{name}` is a number greater than 0")
        return float(text)
