"""Logs: JSON lines or readable text, each record with the ids of the run that it was made in.

The command line calls `configure_logging`. An app of your own that has its own handlers adds
`RunFilter` to them, and finds `agui_thread`, `agui_run` and `agui_agent` on every record.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

from agui_bridge.engine.telemetry import present_run

__all__ = [
    "JsonFormatter",
    "LogFormat",
    "LogLevel",
    "RunFilter",
    "TextFormatter",
    "configure_logging",
]

LogFormat = Literal["text", "json"]
"""How a record is written."""
LogLevel = Literal["debug", "info", "warning", "error"]
"""The lowest level that is shown."""

_TALKATIVE: Final = ("httpcore", "httpx")
"""Loggers that report every step at level info."""

_COLOURS: Final = {"WARNING": "33", "ERROR": "31", "CRITICAL": "31", "DEBUG": "2"}
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_NOT_EXTRA: Final = _OWN | {"agui_thread", "agui_run", "agui_agent", "color_message"}
_LONGEST_ID: Final = 100


class RunFilter(logging.Filter):
    """Puts `agui_thread`, `agui_run` and `agui_agent` on every record; refuses none.

    They are None for a record that was made outside of a run. A record that has them keeps them:
    a queue handler may have handed it to another thread.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the ids.

        Args:
            record: gets `agui_thread`, `agui_run` and `agui_agent`, unless it has them.

        Returns:
            True: no record is left out.
        """
        if not hasattr(record, "agui_run"):
            ids = present_run()
            record.agui_thread = ids.thread if ids else None
            record.agui_run = ids.run if ids else None
            record.agui_agent = ids.agent if ids else None
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object for each record, in ASCII on one line.

    Always `time` (ISO 8601, UTC), `level`, `logger`, `message`; in a run `thread`, `run` and
    `agent`; with an exception `exception` (its type) and `traceback`; `extra` when the caller
    passed some.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        entry: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for field in ("thread", "run", "agent"):
            if (value := getattr(record, f"agui_{field}", None)) is not None:
                entry[field] = value
        if record.exc_info and record.exc_info[0] is not None:
            kind = record.exc_info[0]
            entry["exception"] = f"{kind.__module__}.{kind.__qualname__}"
            entry["traceback"] = self.formatException(record.exc_info)
        if record.stack_info:
            entry["stack"] = record.stack_info
        if extra := {name: v for name, v in vars(record).items() if name not in _NOT_EXTRA}:
            entry["extra"] = extra
        return json.dumps(entry, default=str)


class TextFormatter(logging.Formatter):
    """`time LEVEL logger: message [agent thread run]`, and the traceback below it.

    Args:
        coloured: with a terminal's codes around the level.
    """

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        level = f"{record.levelname:<7}"
        if self._coloured and record.levelname in _COLOURS:
            level = f"\x1b[{_COLOURS[record.levelname]}m{level}\x1b[0m"
        line = f"{_time(record)} {level} {record.name}: {record.getMessage()}"
        ids = [getattr(record, f"agui_{field}", None) for field in ("agent", "thread", "run")]
        if ids[-1] is not None:
            line += f" [{' '.join(_shown(str(value)) for value in ids)}]"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        if record.stack_info:
            line += "\n" + record.stack_info
        return line


class _BridgeHandler(logging.StreamHandler[TextIO]):
    """Ours, so that a second call replaces it and leaves others alone."""


def configure_logging(
    format: LogFormat = "text", level: LogLevel = "info", stream: TextIO | None = None
) -> None:
    """Send all records of the process to one stream, in one format.

    uvicorn's come the same way. Libraries that report every step at level info are heard from
    level warning on, unless the level is debug. Calling it again replaces what it set up.

    Args:
        format: `text` or `json`.
        level: the lowest level that is shown.
        stream: where to; by default standard error.
    """
    stream = stream or sys.stderr
    handler = _BridgeHandler(stream)
    handler.addFilter(RunFilter())
    coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter(coloured=coloured))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, _BridgeHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else logging.WARNING)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: str) -> str:
    """An id, which a client chose: it must not look like another line."""
    value = value[:_LONGEST_ID]
    plain = value.isprintable() and value and not set(value) & set(' []"\\')
    return value if plain else json.dumps(value)
