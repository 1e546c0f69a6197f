"""Keeps what telemetry raises away from the work that it observes."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Final

logger: Final = logging.getLogger(__name__)

_told: Final[set[tuple[str, str]]] = set()


class guarded:  # read like `contextlib.suppress`
    """What is done inside is telemetry alone: if it raises, that is logged and forgotten.

    Each kind is logged once in a process: what fails for one span fails for all. A cancellation
    passes through.

    Args:
        what: what is done, for the log.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        failure = (self._what, type(error).__name__)
        if failure not in _told:
            _told.add(failure)
            # Without the exception's text: it may hold an exporter's credentials.
            logger.warning(
                "telemetry: %s failed with %s; what it observes goes on, and further "
                "failures of this kind are not logged",
                *failure,
            )
        return True
