"""Who has connected before a server's end gets an answer, seen by its loop or not."""

from __future__ import annotations

import asyncio
import socket

import pytest
import uvicorn

from agui_bridge import Bridge
from agui_bridge.http import server as serving
from agui_bridge.http.request_heads import BoundedRequests

REQUEST = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"


async def test_a_connection_that_only_the_system_has_accepted_is_answered() -> None:
    bridge = Bridge("memory:")
    config = uvicorn.Config(bridge.app(anonymous=True), lifespan="off", http=BoundedRequests)
    config.load()
    server = serving._Server(config, bridge, None)
    server.lifespan = config.lifespan_class(config)
    server.servers = []
    listening = serving._listening(socket.AF_INET, ("127.0.0.1", 0))
    address = listening.getsockname()
    with socket.create_connection(address) as client:
        client.sendall(REQUEST)
        await server.shutdown([listening])
        answer = await asyncio.to_thread(client.recv, 4096)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    assert answer.startswith(b"HTTP/1.1 ")
