"""The README's snippets do what the README says."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from jsonschema import Draft202012Validator

from agui_bridge import Bridge
from agui_bridge.config import bridge_from
from tests.docs.pages import ROOT, Conversation, snippets_of
from tests.support.own_modules import importing_own

README = ROOT / "README.md"
_, AGENTS, FASTAPI = (code for _, code in snippets_of(README))


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The function agent, saved as agents.py as the README says, in an empty folder."""
    (tmp_path / "agents.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with importing_own("agents"):
        yield importlib.import_module("agents")


async def test_the_agent_asks_and_runs_the_tool_with_the_edited_arguments(
    agents: ModuleType,
) -> None:
    async with agents.bridge.lifespan():
        talk = Conversation(agents.bridge, "ops")
        await talk.say("clean up")
        edited = {"approved": True, "editedArgs": {"table": "users", "limit": 5}}
        assert await talk.answer(edited) == "5 rows of users deleted"
        await talk.say("again")
        assert await talk.answer({"approved": False}) == "Nothing was deleted: refused."


def test_what_serve_prints_and_the_answer_that_follows_can_be_pasted(agents: ModuleType) -> None:
    ((_, answer),) = snippets_of(README, "bash")
    command = [sys.executable, "-m", "agui_bridge", "serve", "agents:bridge", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            printed = []
            for line in server.stdout:
                printed.append(line)
                if line.rstrip().endswith("}'"):
                    break
            said = "".join(printed)
            base = re.search(r"http://[\d.]+:\d+", said)
            assert base is not None
            question = pasted(said[said.index("curl") :])
            end = pasted(answer.replace("http://127.0.0.1:8787", base[0]))
        finally:
            server.terminate()

    assert '"outcome":{"type":"interrupt"' in question
    assert "1234 rows of users deleted" in end
    assert '"outcome":{"type":"success"}' in end


def pasted(lines: str) -> str:
    """What a shell prints when the lines are pasted into it."""
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines], capture_output=True, text=True, timeout=30
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


async def test_the_configuration_serves_the_agent(agents: ModuleType) -> None:
    bridge = configured()

    async with bridge.lifespan():
        talk = Conversation(bridge, "ops")
        assert await talk.say("clean up") == "I will delete the old users. "


def configured() -> Bridge:
    """The bridge of the configuration, saved as the README says."""
    ((_, text),) = snippets_of(README, "yaml")
    path = Path("bridge.yaml")
    path.write_text(text)
    return bridge_from(path)


def test_the_event_that_is_shown_is_of_its_schema() -> None:
    ((_, text),) = snippets_of(README, "json")
    schema = json.loads((ROOT / "schemas" / "events.json").read_text())
    Draft202012Validator(schema).validate(json.loads(text))


def test_every_file_that_is_linked_is_there_and_it_is_short() -> None:
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)

    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert len(text.splitlines()) <= 200


def test_the_comparison_is_the_matrixs() -> None:
    """Each row has the figures of a row of docs/matrix.md, and the order is its order."""
    figures = (
        r"^\| [^|]+ \| (?:\S+ \| )?(\d+ of \d+) \| (?:\d+ of \d+ \| )?(\d+ of \d+) \| ([\d, ]+) \|$"
    )
    told = re.findall(figures, README.read_text(encoding="utf-8"), re.MULTILINE)
    matrix = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8")
    measured = [
        (alone, behind, re.sub(r", \d+, ", ", ", twice))
        for alone, behind, twice in re.findall(figures, matrix, re.MULTILINE)
    ]
    assert len(told) == 8
    assert told == [row for row in measured if row in told]


async def test_the_fastapi_snippet_serves_the_agent(agents: ModuleType) -> None:
    import httpx

    names: dict[str, object] = {}
    exec(compile(FASTAPI, "README.md", "exec"), names)
    app = names["app"]
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]  # exec gives objects
    async with (
        agents.bridge.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        listed = (await client.get("/ai/agents")).json()

    assert [agent["name"] for agent in listed["agents"]] == ["ops"]
