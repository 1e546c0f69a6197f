"""The servers that the kit starts: where they listen, and when they are ready."""

import asyncio
import contextlib
import sys
from pathlib import Path

import httpx
import pytest

from agui_bridge.conformance import servers
from agui_bridge.conformance.config import Server
from agui_bridge.errors import ConfigurationError


async def test_each_process_gets_a_port_of_its_own_that_the_system_gives_to_nobody(
    tmp_path: Path,
) -> None:
    server = Server(command=("none",), ready="", ports=(0,) * 200 + (8000,))

    async with httpx.AsyncClient() as client:
        ports = servers.Processes(server, tmp_path, client).ports

    assert len(set(ports)) == 201 and ports[-1] == 8000
    # Linux gives away those from 32768 on, others from 49152 on.
    assert max(ports) < 32_768


ANSWERS = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(int(sys.argv[2]))
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
"""A server that answers every GET alike, as one does that takes POST alone."""


def answering(status: int, seconds: float = 60) -> Server:
    command = (sys.executable, "-c", ANSWERS, "{port}", str(status))
    return Server(command=command, start_seconds=seconds)


@pytest.mark.parametrize("status", [404, 405, 401])
async def test_a_server_without_any_get_route_is_ready_by_the_endpoints_own_url(
    tmp_path: Path, status: int
) -> None:
    url = "http://127.0.0.1:{port}/agent"
    async with httpx.AsyncClient(trust_env=False) as client:
        processes = servers.Processes(answering(status), tmp_path, client, url)
        async with processes.running():
            response = await client.get(url.replace("{port}", str(processes.ports[0])))

    assert response.status_code == status


async def test_who_is_never_ready_is_told_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    url = "http://127.0.0.1:{port}/agent"
    async with httpx.AsyncClient(trust_env=False) as client:
        processes = servers.Processes(answering(503, seconds=3), tmp_path, client, url)
        with pytest.raises(ConfigurationError) as refused:
            async with processes.running():
                pass

    told = str(refused.value)
    for part in (f"GET http://127.0.0.1:{processes.ports[0]}/agent was tried", "HTTP 503",
                 "start_seconds", "set ready to a URL", "It wrote:", "code 503"):  # fmt: skip
        assert part in told


class Swallowing(httpx.AsyncBaseTransport):
    """Takes the cancellation of a request for a fault of the network."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        raise httpx.ConnectError("cancelled")


async def test_the_wait_for_a_server_ends_though_its_cancellation_was_swallowed() -> None:
    async with httpx.AsyncClient(transport=Swallowing()) as client:
        waiting = asyncio.create_task(servers.await_ready(client, "http://a.test", 0.05))
        await asyncio.wait([waiting], timeout=20)
        assert waiting.done()

    with pytest.raises(ConfigurationError, match="ConnectError the last time"):
        await waiting
