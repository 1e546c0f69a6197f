"""Where the servers of an endpoint listen."""

from pathlib import Path

import httpx

from agui_bridge.conformance import servers
from agui_bridge.conformance.config import Server


async def test_each_process_gets_a_port_of_its_own_that_the_system_gives_to_nobody(
    tmp_path: Path,
) -> None:
    server = Server(command=("none",), ready="", ports=(0,) * 200 + (8000,))

    async with httpx.AsyncClient() as client:
        ports = servers.Processes(server, tmp_path, client).ports

    assert len(set(ports)) == 201 and ports[-1] == 8000
    # Linux gives away those from 32768 on, others from 49152 on.
    assert max(ports) < 32_768
