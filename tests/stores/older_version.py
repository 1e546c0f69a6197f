"""What a version writes from before servers noted themselves: records without a format.

That version itself was run beside this one by hand. Here its records are written by this version's
own stores, of which only the text of a record, and what the store in memory keeps, is as before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from agui_bridge.stores import codec, commit_rules

__all__ = ["writing_as_before"]


@contextmanager
def writing_as_before(older: bool = True) -> Iterator[None]:
    """Write thread records as that version does within, if `older`."""
    if not older:
        yield
        return

    def encode(value: Any) -> str:
        if isinstance(value, dict):
            value = {name: it for name, it in value.items() if name != "format"}
        return json.dumps(value, separators=(",", ":"), allow_nan=False)

    with (
        mock.patch.object(codec, "encode", encode),
        mock.patch.object(commit_rules, "RECORD_FORMAT", 0),
    ):
        yield
