"""By what an input is known again: its run's id and the newest message that it brings.

Source: docs/contract.md, row 8a.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from agui_bridge.engine.input.submission import Submission

__all__ = ["receipt_of"]


def receipt_of(submission: Submission) -> str | None:
    """Key of an input's receipt, beside those of batches.

    None where nothing tells it again, and for answers, which are known by what they answer.
    """
    newest = _newest(submission.parsed.messages)
    if submission.parsed.entries or newest is None:
        return None
    pair = json.dumps([submission.run_id, newest]).encode()
    return f"input:{hashlib.sha256(pair).hexdigest()[:32]}"


def _newest(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The id of a list's last user message, or of the call whose result comes behind it."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return str(message["id"])
        if message.get("role") == "tool":
            return str(message.get("toolCallId"))
    return None
