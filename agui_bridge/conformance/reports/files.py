"""Files that hold reports; the ending of each names its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from agui_bridge.conformance.reports.json_report import as_json
from agui_bridge.conformance.reports.junit import as_junit
from agui_bridge.conformance.reports.matrix import as_markdown
from agui_bridge.conformance.runner import Report
from agui_bridge.errors import ConfigurationError

__all__ = ["FORMATS", "check_names", "write_reports", "write_text"]

FORMATS: Final[Mapping[str, Callable[[Sequence[Report]], str]]] = {
    ".json": as_json,
    ".xml": as_junit,
    ".md": as_markdown,
}
"""The formats, by the ending of the file that holds them."""


def check_names(reports: Iterable[Path], others: Iterable[Path] = ()) -> None:
    """Refuse files that can't be written, before the checks take their time.

    Args:
        reports: whose endings name their formats.
        others: of any ending.

    Raises:
        ConfigurationError: an ending is unknown, or a folder is missing.
    """
    reports = tuple(reports)
    for path in reports:
        if path.suffix not in FORMATS:
            raise ConfigurationError(f"{path}: name it {' or '.join(FORMATS)}.")
    for path in (*reports, *others):
        if not path.parent.is_dir():
            raise ConfigurationError(f"{path} can't be written: there is no folder {path.parent}.")


def write_reports(reports: Sequence[Report], paths: Iterable[Path]) -> None:
    """Write reports, each in the format that its file's ending names.

    Raises:
        ConfigurationError: a file can't be written.
    """
    for path in paths:
        write_text(path, FORMATS[path.suffix](reports))


def write_text(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        ConfigurationError: it can't be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} can't be written: {error.strerror}.") from None
