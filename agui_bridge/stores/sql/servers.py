"""Servers as rows of the SQL stores, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agui_bridge.stores import codec
from agui_bridge.stores.servers import Server, Written

__all__ = ["read_server", "read_written", "server_row"]


def server_row(server: Server) -> dict[str, Any]:
    """What is written of a server besides the times."""
    return {
        "id": server.id,
        "version": server.version,
        "format": server.format,
        "channels": codec.encode(list(server.channels)),
    }


def read_server(row: Sequence[Any]) -> Server:
    """A server, from its columns in the order of the fields."""
    id, version, format, channels, since, seen_at = row
    return Server(id, version, format, tuple(codec.decode(channels)), since, seen_at)


def read_written(row: Sequence[Any]) -> Written:
    """A record as it was found, from the beginning of its text and its time."""
    beginning, at = row
    return Written(codec.format_of(beginning), at)
