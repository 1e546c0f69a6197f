"""Headers as options give them."""

from __future__ import annotations

import re
from typing import Final

from agui_bridge.errors import ConfigurationError

__all__ = ["read_header"]

_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def read_header(line: str) -> tuple[str, str]:
    """The name and the value of a header.

    Args:
        line: `Name: value`.

    Raises:
        ConfigurationError: it is none.
    """
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise ConfigurationError(f'--header {line!r} is no header.\nWrite it as "Name: value".')
    name, value = name.strip(), value.strip()
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"--header {line!r}: a name has ASCII letters, digits and hyphens, and no blanks."
        )
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"--header {line!r}: a value is one line of ASCII characters. Encode others, for "
            "instance as %C3%A9."
        )
    return name, value
