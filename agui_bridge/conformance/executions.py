"""How often a gated tool ran, counted where the agent can't embellish it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx

from agui_bridge.conformance.config import Executions, filled
from agui_bridge.errors import ConfigurationError

__all__ = ["executed"]


async def executed(
    source: Executions, marker: str, client: httpx.AsyncClient, **names: str
) -> list[str]:
    """Every execution that a marker stands in, each as the line or value that tells of it.

    Args:
        source: where to look.
        marker: of the thread.
        client: for a URL.
        names: what else is replaced, such as `folder`.

    Raises:
        ConfigurationError: the URL or the command fails.
    """
    if source.file is not None:
        text = await asyncio.to_thread(_read_file, Path(filled(str(source.file), **names)))
        return [line for line in text.splitlines() if marker in line]
    if source.url is not None:
        url = filled(source.url, marker=marker, **names)
        try:
            response = await client.get(url)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise ConfigurationError(f"executions.url fails: {error}") from None
        return _read(response.text, marker)
    command = filled(source.command or (), marker=marker, **names)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    if process.returncode:
        raise ConfigurationError(f"executions.command ends with code {process.returncode}.")
    return _read(output.decode(errors="replace"), marker)


def _read_file(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _read(text: str, marker: str) -> list[str]:
    """A JSON number, a JSON list, or lines."""
    try:
        value = json.loads(text)
    except ValueError:
        return [line for line in text.splitlines() if marker in line]
    if isinstance(value, int):
        return [marker] * value
    items = value if isinstance(value, list) else [value]
    return [line for line in map(json.dumps, items) if marker in line]
