"""Where the pages stand; apart from what makes them, which only a bridge with an inbox needs."""

from __future__ import annotations

from typing import Final

INBOX: Final = "/inbox"
DECIDED: Final = "/inbox/decided"
RULES: Final = "/inbox/rules"
NOTICES: Final = "/inbox/notices"
QUESTION: Final = "/inbox/{reference}"
BY_LINK: Final = "/d/{reference}"
"""For whoever holds a link."""

INBOX_PATHS: Final = (INBOX, DECIDED, RULES, NOTICES, QUESTION, BY_LINK)
"""In the order in which they are looked for."""
