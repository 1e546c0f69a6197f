"""How a graph on a server is named: by its address, LangGraph's own client, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError

pytest.importorskip("langgraph_sdk")

from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_sync_client

from agui_bridge_langgraph_server import LangGraphServerAdapter
from agui_bridge_langgraph_server.frames import Frames

FILE = """
store: "memory:"
agents:
  ops:
    adapter: langgraph_server
    options: {url: "http://127.0.0.1:2024", assistant: agent, graph_context: {language: fr}}
"""


async def test_a_remote_graph_is_added_as_it_is() -> None:
    remote = RemoteGraph("ops", url="http://127.0.0.1:2024", api_key="k1")
    bridge = Bridge(telemetry=False)
    bridge.add("ops", remote)
    adapter: Any = bridge.agents["ops"].adapter
    assert isinstance(adapter, LangGraphServerAdapter)
    server = adapter._server
    assert server._assistant == "ops"
    client = server._clients.get().http.client
    assert str(client.base_url).rstrip("/") == "http://127.0.0.1:2024"
    assert client.headers["x-api-key"] == "k1"
    await adapter.aclose()


def test_a_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "bridge.yaml").write_text(FILE, encoding="utf-8")
    bridge = bridge_from(tmp_path / "bridge.yaml")
    assert isinstance(bridge.agents["ops"].adapter, LangGraphServerAdapter)


@pytest.mark.parametrize(
    ("url", "options", "named"),
    [
        ("localhost:2024", {}, "url"),
        (RemoteGraph("ops", sync_client=get_sync_client(url="http://h")), {}, "url"),
        ("http://h", {"headers": "nonsense"}, "nonsense"),
        ("http://h", {"config": 7}, "config"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(url: Any, options: Any, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        LangGraphServerAdapter(url, **options)


def chunk(own: str, position: str | None = None) -> dict[str, Any]:
    told = {"type": "AIMessageChunk", "id": own, "content": "x", "tool_calls": []}
    return {**told, "invalid_tool_calls": [], "tool_call_chunks": [], "chunk_position": position}


@pytest.mark.parametrize(
    ("told", "one"),
    [
        ([chunk("a"), chunk("a")], True),
        ([chunk("lc_run--1"), chunk("resp_1"), chunk("resp_1")], True),
        ([chunk("a", "last"), chunk("b")], False),
        ([chunk("lc_run--1"), chunk("lc_run--2")], False),
    ],
)
def test_pieces_of_one_message_are_known_as_such(told: list[Any], one: bool) -> None:
    # In one process LangGraph gives the same object with all pieces of a message.
    frames = Frames()
    parts = [
        frames.part("messages|inner:1", [each, {"langgraph_checkpoint_ns": "inner:1|model:2"}])
        for each in told
    ]
    about = [id(part[2][1]) for part in parts if part is not None]
    assert (len(set(about)) == 1) is one
