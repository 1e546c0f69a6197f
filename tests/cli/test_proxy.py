"""`agui-bridge proxy`: an endpoint behind the bridge, in one command."""

from __future__ import annotations

import json
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner

from agui_bridge.cli import app
from agui_bridge.cli.commands.proxy import proxy
from agui_bridge_agui.peers import PEERS
from tests.adapters.agui.upstream import Upstream, call, finished, interrupt, started, text
from tests.cli.processes import serving
from tests.support.logs import logging_as_before
from tests.support.server import serve


async def test_it_serves_the_endpoint_under_a_name_and_sends_the_headers(tmp_path: Path) -> None:
    upstream = Upstream([started(), *text("Hi."), finished()])
    async with serve(upstream.app(), lifespan="off") as base:
        url = f"{base}/agent"
        options = ["--name", "helper", "--dialect", "0.x", "--header", "X-Key: abc"]
        with serving(tmp_path, url, "--port", "0", *options, verb="proxy") as server:
            body = {
                "threadId": "t",
                "runId": "r",
                "messages": [{"id": "m", "role": "user", "content": "go"}],
            }
            async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
                answer = await http.post(f"{server.url}/agents/helper", json=body)
        said = "".join(server.told["stdout"])
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data:")]
    assert events[-1]["type"] == "RUN_FINISHED"
    assert upstream.headers[0]["x-key"] == "abc"
    assert "protocolVersion" not in upstream.bodies[0]
    assert f"agent helper: {server.url}/agents/helper" in said and "abc" not in said


def test_it_offers_every_peer_that_the_adapter_knows() -> None:
    (option,) = [p for p in proxy.params if p.name == "peer"]
    assert isinstance(option.type, click.Choice)
    assert set(option.type.choices) == set(PEERS)


async def test_edits_are_checked_by_the_schemas_of_a_file(tmp_path: Path) -> None:
    schemas = tmp_path / "tools.json"
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schemas.write_text(json.dumps({"delete": parameters}))
    edits = {"type": "object", "properties": {"approved": {}, "editedArgs": {"type": "object"}}}
    upstream = Upstream([started(), *call(), finished(interrupt({"responseSchema": edits}))])
    async with serve(upstream.app(), lifespan="off") as base:
        options = ["--port", "0", "--peer", "langgraph", "--tool-schemas", str(schemas)]
        with serving(tmp_path, f"{base}/agent", *options, verb="proxy") as server:
            user = {"id": "m", "role": "user", "content": "go"}
            body = {"threadId": "t", "runId": "r", "messages": [user]}
            async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
                answer = await http.post(f"{server.url}/agents/agent", json=body)
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data:")]
    (ask,) = events[-1]["outcome"]["interrupts"]
    edited = ask["responseSchema"]["properties"]["editedArgs"]
    assert edited["properties"] == parameters["properties"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["agent"], "url should be an address"),
        (["http://x/", "--header", "abc"], "--header should be 'Name: value'"),
        (["http://x/", "--host", "0.0.0.0"], "--anonymous"),
        (["http://x/", "--name", "a/b"], "can't be an agent's name"),
        (["http://x/", "--dialect", "2.0"], "--dialect"),
        (["http://x/", "--peer", "autogen"], "--peer"),
        (["http://x/", "--tool-schemas", "nowhere.json"], "--tool-schemas"),
        (["http://x/", "--tool-schemas", __file__], "test_proxy.py"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_line(args: list[str], told: str) -> None:
    with logging_as_before():
        done = CliRunner().invoke(app, ["proxy", *args, "--port", "0"], prog_name="agui-bridge")
    assert done.exit_code == 2
    assert told in done.stderr and "Traceback" not in done.output
