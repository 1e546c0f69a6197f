"""The sign of a page that goes back, in an input.

Source: docs/contract.md, G2 and G3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agui_bridge.errors import Refused

__all__ = ["newest_told"]

_WHERE = ((), ("runConfig",), ("runConfig", "custom"))
"""Where `agui_bridge.newest` may stand: assistant-ui sends what a page adds to its run as
`runConfig.custom`."""


def newest_told(props: Any) -> str | None:
    """The id that an input's `forwardedProps` give as the page's newest turn message.

    Raises:
        Refused: INVALID_INPUT, what is given is no text.
    """
    for path in _WHERE:
        given = props
        for name in (*path, "agui_bridge", "newest"):
            given = given.get(name) if isinstance(given, Mapping) else None
        if given is None:
            continue
        if not isinstance(given, str) or not given:
            field = ".".join(("forwardedProps", *path, "agui_bridge", "newest"))
            raise Refused(
                "INVALID_INPUT",
                f"{field}: must be the id of a message, the newest one that the page has.",
                {"field": field},
            )
        return given
    return None
