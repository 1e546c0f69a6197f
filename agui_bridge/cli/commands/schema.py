"""`agui-bridge schema`."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click

from agui_bridge.cli.faults import Command
from agui_bridge.errors import ConfigurationError
from agui_bridge.terminal import Terminal, paint

_SUFFIXES: Final = (".schema.json", ".json")


@click.command(cls=Command)
@click.argument("name", required=False)
@click.option(
    "--output",
    "--all",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write them all into a folder instead.",
)
def schema(name: str | None, output: Path | None) -> None:
    """Print the JSON Schema of a wire shape or of the configuration file.

    Without a name it lists what there is.

    Examples:
      agui-bridge schema
      agui-bridge schema configuration > bridge.schema.json
      agui-bridge schema --output schemas/
    """
    documents = _documents()
    if output is not None:
        if name is not None:
            raise ConfigurationError("--output writes them all: leave the name out.")
        _write(documents, output)
    elif name is None:
        _list(documents)
    else:
        click.echo(_dumped(documents[_file_of(name, documents)]), nl=False)


def _documents() -> Mapping[str, dict[str, Any]]:
    try:
        # By its name, because it takes a while and only this command needs it.
        module = importlib.import_module("agui_bridge.documents.schemas")
    except ModuleNotFoundError as error:
        raise ConfigurationError("This version brings no schemas.") from error
    documents: Mapping[str, dict[str, Any]] = module.documents()
    return documents


def _file_of(name: str, documents: Mapping[str, dict[str, Any]]) -> str:
    by_name = {_short(file): file for file in documents}
    short = _short(name)
    if short in by_name:
        return by_name[short]
    near = get_close_matches(short, list(by_name), 1)
    remedy = f"Did you mean {near[0]}?" if near else "`agui-bridge schema` lists them."
    raise ConfigurationError(f"There is no schema {name!r}.\n{remedy}")


def _short(file: str) -> str:
    for suffix in _SUFFIXES:
        file = file.removesuffix(suffix)
    return file


def _list(documents: Mapping[str, dict[str, Any]]) -> None:
    rows = []
    for file, document in sorted(documents.items()):
        told = document if "description" in document else document.get("info", document)
        said = str(told.get("description") or told.get("title") or "")
        first = re.split(r"(?<=\.)\s", said)[0]
        rows.append((paint(_short(file), "bold"), first))
    Terminal().table(rows)


def _write(documents: Mapping[str, dict[str, Any]], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, document in documents.items():
            (folder / file).write_text(_dumped(document), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be written to: {error.strerror}.\nName another folder."
        ) from error
    click.echo(f"{len(documents)} schemas are in {folder}.")


def _dumped(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
