"""Headers as options give them."""

from __future__ import annotations

from agui_bridge.errors import ConfigurationError

__all__ = ["read_header"]


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
    return name.strip(), value.strip()
