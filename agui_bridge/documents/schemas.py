"""The files in `schemas/`: every shape on the wire, and the HTTP surface.

    python -m agui_bridge.documents FOLDER

writes them; `make schemas` does it for the checkout. They are made from the types and tables that
the code uses, and a test fails when a file is another than what is made now.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from agui_bridge.config import configuration_schema
from agui_bridge.http.app.openapi import openapi, views
from agui_bridge.shapes import chat, readable_schema as codes, runs
from agui_bridge.shapes.readable_schema import Schema, document

_MADE: Final[Mapping[str, Callable[[], Schema]]] = {
    "run-input": runs.run_input,
    "resume": runs.resume,
    "events": runs.events,
    "interrupt": runs.interrupt,
    "preview": runs.preview,
    "decisions": runs.decisions,
    "error": codes.error,
    "chat-frame": chat.chat_frame,
    "chat-state": chat.chat_state,
    "openapi": openapi,
    "configuration": lambda: document(
        "configuration",
        "Configuration",
        "A configuration file, as `agui-bridge serve` reads it.",
        configuration_schema(),
    ),
}
"""What makes each document, besides the views."""


@cache  # making them takes a second
def documents() -> Mapping[str, Schema]:
    """Every document by its file name; shared, so not to be changed."""
    made = {name: make() for name, make in _MADE.items()} | views()
    return {f"{name}.json": schema for name, schema in made.items()}


def write_documents(folder: Path) -> list[Path]:
    """Write every document into a folder, which is made if it is missing; gives the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, schema in documents().items():
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
        files.append(folder / name)
    return files


def main() -> None:
    """Write the documents into the folder that the command line names."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m agui_bridge.documents FOLDER")
    for file in write_documents(Path(sys.argv[1])):
        print(file)


if __name__ == "__main__":
    main()
