"""Other people's texts, so that what is approved is what is read."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["visible"]

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that show nothing, or change what others look like."""


def visible(text: str) -> str:
    """A text of which every character can be seen.

    A character that turns the direction of others, or shows nothing, stands there by its number.

    Args:
        text: an agent's, or of somebody else.
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))
