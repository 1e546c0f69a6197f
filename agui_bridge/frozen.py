"""Frozen dataclasses whose frozenness type checkers hold, so that a run does not pay for it.

A frozen dataclass sets each field by `object.__setattr__`, which takes some twenty times what a
plain assignment takes, and `dataclasses.replace` goes through all fields by name. A run makes some
hundred records: together that was a fifth of an interrupt's round trip (docs/performance.md).

Type checkers see `dataclasses` itself here, and refuse an assignment to a field. So does Python's
development mode (`python -X dev`). Classes that programs outside make objects of are frozen by
`dataclasses` itself.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass, replace as replace
else:

    def dataclass(*, frozen: bool, slots: bool) -> Callable[[type], type]:
        """As `dataclasses.dataclass` with the same arguments; frozen in development mode only."""
        really = frozen and sys.flags.dev_mode
        return dataclasses.dataclass(frozen=really, slots=slots, unsafe_hash=frozen and not really)

    def replace(record: Any, /, **changes: Any) -> Any:
        """As `dataclasses.replace`."""
        cls = record.__class__
        if (fields := _fields_by_position(cls)) is None:
            return dataclasses.replace(record, **changes)
        place, read = fields
        values = [*read(record)]
        for name, value in changes.items():
            values[place[name]] = value
        return cls(*values)


@cache
def _fields_by_position(
    cls: type,
) -> tuple[dict[str, int], Callable[[Any], tuple[Any, ...]]] | None:
    """The place of each field, and what reads all; None where some can't be given by place."""
    fields = dataclasses.fields(cls)
    # With a single name, `attrgetter` would not give a tuple.
    if len(fields) < 2 or not all(field.init and not field.kw_only for field in fields):
        return None
    names = [field.name for field in fields]
    return {name: place for place, name in enumerate(names)}, attrgetter(*names)
