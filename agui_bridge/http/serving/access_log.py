"""The server's access log, without what is as secret as a password."""

from __future__ import annotations

import logging
import re
from typing import Final

__all__ = ["keep_links_out"]

_ACCESS: Final = "uvicorn.access"

_LINK: Final = re.compile(r"(/d/)[^/?\s]+")
"""A link in a path (`http.inbox.paths.BY_LINK`), also below where the bridge is mounted."""


class _LinkFilter(logging.Filter):
    """Shows of a link where it stands; refuses no record."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _LINK.sub(r"\1…", arg) if isinstance(arg, str) else arg for arg in record.args
            )
        return True


_FILTER: Final = _LinkFilter()


def keep_links_out() -> None:
    """Mask links in uvicorn's access log, from now on, whatever writes it."""
    logging.getLogger(_ACCESS).addFilter(_FILTER)
