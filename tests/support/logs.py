"""Logging as it was before a test that configures it."""

import contextlib
import logging
from collections.abc import Iterator

__all__ = ["logging_as_before"]

CONFIGURED = (
    *("httpx", "httpcore"),
    *("uvicorn", "uvicorn.error", "uvicorn.access"),
)


@contextlib.contextmanager
def logging_as_before() -> Iterator[None]:
    """Put handlers and levels back at the end."""
    loggers = [logging.getLogger(), *map(logging.getLogger, CONFIGURED)]
    before = [(list(logger.handlers), logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate
