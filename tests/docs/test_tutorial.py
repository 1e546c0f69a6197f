"""The tutorial, done as its reader does it: files saved, servers started, lines pasted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.docs.reader import Reader, blocks

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Somebody in an empty folder."""
    return Reader(tmp_path)


def test_the_first_step_has_an_agent_that_remembers(reader: Reader) -> None:
    (agents,) = blocks("1-agent", "python")
    (serve,) = blocks("1-agent", "sh")
    ask, read = blocks("1-agent", "bash")
    (shown,) = blocks("1-agent", "text")
    reader.save("agents.py", agents)

    with reader.starts(serve):
        stream = reader.pastes(ask)
    with reader.starts(serve):
        thread = json.loads(reader.pastes(read))

    assert re.findall(r'data: {"type":"(?!\w+_SNAPSHOT)\w+"', stream) == shown.split("\n")[:-1]
    assert [message["content"] for message in thread["messages"]] == [
        "clean up",
        "You want me to: clean up",
    ]


def test_the_second_step_asks_and_deletes_once(reader: Reader) -> None:
    (agents,) = blocks("2-approval", "python")
    (serve,) = blocks("2-approval", "sh")
    ask, answer, again = blocks("2-approval", "bash")
    reader.save("agents.py", agents)

    with reader.starts(serve):
        stream = reader.pastes(ask)
    with reader.starts(serve):
        printed = reader.pastes(answer, again)

    assert '"outcome":{"type":"interrupt"' in stream
    assert 'delete_rows {"table": "users", "limit": 1234}' in printed
    told = json.loads(printed[printed.index('{"thread') :])["messages"]
    assert [m["content"] for m in told].count("1234 rows of users deleted") == 2, told
    assert [m["role"] for m in told].count("tool") == 1


def test_the_third_step_serves_the_page_and_its_agent(reader: Reader) -> None:
    (agents,) = blocks("2-approval", "python")
    (app,) = blocks("3-page", "python")
    (page,) = blocks("3-page", "html")
    (serve,) = blocks("3-page", "sh")
    for name, text in {"agents.py": agents, "app.py": app, "page.html": page}.items():
        reader.save(name, text)

    with reader.starts(serve), httpx.Client(base_url=reader.url, trust_env=False) as client:
        assert client.get("/").text == page
        assert client.get("/ai/agents/ops/threads/new").status_code == 404
        assert [each["name"] for each in client.get("/ai/agents").json()["agents"]] == ["ops"]


def test_the_fourth_step_has_two_people_and_two_processes(reader: Reader) -> None:
    (agents,) = blocks("2-approval", "python")
    (configuration,) = blocks("4-production", "yaml")
    first, second = blocks("4-production", "sh")
    prepare, ask, refused, answered = blocks("4-production", "bash")
    reader.save("agents.py", agents)
    reader.save("bridge.yaml", configuration)
    told = reader.pastes(prepare, 'echo "TOKENS $ANN_TOKEN $BOB_TOKEN"')
    ann, bob = told.rpartition("TOKENS ")[2].split()
    reader.environment |= {"ANN_TOKEN": ann, "BOB_TOKEN": bob}

    with reader.starts(first, second):
        assert '"outcome":{"type":"interrupt"' in reader.pastes(ask)
        printed = reader.pastes(
            refused,
            answered,
            f'curl -s {reader.url}/agents/ops/threads/t1 -H "Authorization: Bearer $BOB_TOKEN"',
        )

    assert "SELF_APPROVAL" in printed or "NOT_AN_APPROVER" in printed, printed
    assert "1234 rows of users deleted" in printed
