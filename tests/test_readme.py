"""The README's snippets do what the README says."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

README = Path(__file__).parent.parent / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The first snippet, saved as agents.py as the README says, in an empty folder."""
    (tmp_path / "agents.py").write_text(SNIPPETS[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("agents")
    del sys.modules["agents"]


async def test_the_agent_asks_and_runs_the_tool_with_the_edited_arguments(
    agents: ModuleType,
) -> None:
    from agui_bridge import Bridge, Principal
    from agui_bridge.engine.call import Call
    from agui_bridge.protocol.dialects import parse_input

    bridge: Bridge = agents.bridge
    async with bridge.lifespan():
        message = {"id": "m1", "role": "user", "content": "clean up"}
        body = {"threadId": "t", "runId": "r", "messages": [message]}
        engine = await bridge.open()
        pipe, stream = engine.submit(Call(bridge.agents["ops"], Principal(), parse_input(body)))
        while await pipe.read():
            pass
        assert stream.terminal is not None
        (ask,) = stream.terminal["outcome"]["interrupts"]
        edited = {"approved": True, "editedArgs": {"table": "users", "limit": 5}}
        end = await bridge.resume("ops", "t", {ask["id"]: edited})
        said = (await bridge.stop("ops", "t")).messages

    assert end["type"] == "RUN_FINISHED"
    assert [m["content"] for m in said if m["role"] == "assistant"][-1] == "5 rows of users deleted"


async def test_the_fastapi_snippet_serves_the_agent(agents: ModuleType) -> None:
    import httpx

    names: dict[str, object] = {}
    exec(compile(SNIPPETS[1], "README.md", "exec"), names)
    app = names["app"]
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]  # exec gives objects
    async with (
        agents.bridge.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://testserver") as client,
    ):
        listed = (await client.get("/ai/agents")).json()

    assert [agent["name"] for agent in listed["agents"]] == ["ops"]
