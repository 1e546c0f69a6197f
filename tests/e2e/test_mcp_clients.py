"""Official MCP clients from npm at real bridges: the TypeScript SDKs, and the inspector's CLI."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.lines import HERE
from tests.mcp_server.agents import ADDRESS
from tests.mcp_server.asking import environment
from tests.mcp_server.processes import Served
from tests.support.effects import Effects
from tests.support.waiting import wait_until

FOLDER: Final = HERE / "mcp"
INSPECTOR: Final = (
    FOLDER / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)
APPROVED: Final = {"action": "accept", "content": {"approved": True}}
NEW: Final = {"sdk": "client"}
OLDER: Final = {
    "the new SDK at an older version": {"sdk": "client", "mode": "legacy"},
    "the older SDK": {"sdk": "sdk"},
}

Json = dict[str, Any]
Run = Callable[..., Json]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store and the effects of this file's bridges lie."""
    return tmp_path_factory.mktemp("mcp")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """A bridge for this file."""
    one = Served(folder)
    yield one
    one.kill()


@pytest.fixture
def thread(request: pytest.FixtureRequest) -> str:
    """A thread that no other test uses."""
    return str(request.node.name)


def node(folder: Path, *command: str) -> str:
    """Run a program of Node.js; gives what it prints."""
    variables = {**environment(folder), "MCP_CATALOG_PATH": str(folder / "catalog.json")}
    done = subprocess.run(
        ["node", *command], cwd=FOLDER, env=variables, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def called(folder: Path, address: str, tool: str, answers: list[Json], **options: Any) -> Json:
    """What comes of a call by a TypeScript SDK."""
    given = {"tool": tool, "answers": answers, **options}
    found: Json = json.loads(node(folder, "client.mjs", address, json.dumps(given)))
    return found


def test_the_typescript_client_asks_a_person_and_the_call_runs_once(
    served: Served, folder: Path, thread: str
) -> None:
    arguments = {"message": thread, "thread": thread}
    came = called(folder, served.address, "ops", [APPROVED], arguments=arguments, **NEW)
    (asked,) = came["asked"]
    assert asked["mode"] == "form" and f'"table": "{thread}"' in asked["message"]
    reply = f"I will delete.\n\n3 rows of {thread} deleted"
    assert came["result"]["structuredContent"] == {
        "thread": thread, "status": "done", "text": reply,
    }  # fmt: skip
    assert "calls delete_rows" in came["told"]
    assert [m["role"] for m in json.loads(came["conversation"])["messages"]] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert Effects(folder / "effects").counted[f"deleted {thread}"] == 1


def test_the_typescript_client_opens_the_page_of_what_certain_people_decide(
    served: Served, folder: Path, thread: str
) -> None:
    opened, left = {"action": "accept", "content": {"approved": True}}, {"action": "decline"}
    for answer in (left, opened):
        arguments = {"message": "salaries", "thread": f"{thread}-{answer['action']}"}
        came = called(
            folder, served.address, "ops", [answer], arguments=arguments,
            cancelAfter=6000 if answer is opened else None, **NEW,
        )  # fmt: skip
        (asked,) = came["asked"]
        assert asked["mode"] == "url" and asked["url"].startswith(f"{ADDRESS}/inbox/")
        if answer is left:
            assert came["result"]["structuredContent"]["status"] == "waiting"
        else:
            assert "failed" in came, "it waits for the page's answer"
    assert Effects(folder / "effects").counted["deleted salaries"] == 0


@pytest.mark.parametrize("options", OLDER.values(), ids=OLDER)
def test_older_clients_are_told_where_people_answer(
    served: Served, folder: Path, thread: str, options: Json
) -> None:
    arguments = {"message": thread, "thread": thread}
    came = called(folder, served.address, "ops", [], arguments=arguments, **options)
    told = came["result"]["content"][0]["text"]
    assert f"Answer at: {ADDRESS}/inbox/" in told and "call the tool thread_status" in told
    stands = {"agent": "ops", "thread": thread}
    again = called(folder, served.address, "thread_status", [], arguments=stands, **options)
    assert again["result"] == came["result"]
    assert Effects(folder / "effects").counted[f"deleted {thread}"] == 0


@pytest.mark.parametrize("options", [NEW, *OLDER.values()], ids=["the new SDK", *OLDER])
def test_a_typescript_client_that_gives_up_stops_the_run(
    served: Served, folder: Path, thread: str, options: Json
) -> None:
    arguments = {"message": "go", "thread": thread}
    came = called(
        folder, served.address, "slow", [], arguments=arguments, cancelAfter=1000, **options
    )
    assert "failed" in came and any("1 2 3" in (said or "") for said in came["told"])
    stands = {"agent": "slow", "thread": thread}

    def stopped() -> bool:
        told = called(folder, served.address, "thread_status", [], arguments=stands, **NEW)
        return bool(told["result"]["structuredContent"]["status"] == "stopped")

    wait_until(stopped)


@pytest.mark.parametrize(
    ("transport", "era"), [("http", "modern"), ("http", "legacy"), ("stdio", "modern")]
)
def test_the_inspector_lists_calls_and_reads(
    served: Served, folder: Path, thread: str, transport: str, era: str
) -> None:
    command = [sys.executable, "-m", "agui_bridge", "mcp", "tests.mcp_server.agents:bridge"]

    def inspect(method: str, *arguments: str) -> Json:
        # A process of the bridge takes its time to start on a busy machine.
        patience = ("--connect-timeout", "60000")
        options = (
            "--cli",
            "--protocol-era",
            era,
            "--format",
            "json",
            *patience,
            "--method",
            method,
        )
        target = ["--transport", "http", served.address]
        if transport == "stdio":
            # It hands its own variables on to nobody.
            store = f"MCP_STORE={environment(folder)['MCP_STORE']}"
            target = ["-e", store, "--cwd", str(folder), "--", *command]
        found: Json = json.loads(node(folder, str(INSPECTOR), *options, *arguments, *target))
        result: Json = found.get("result", found)
        return result

    names = [tool["name"] for tool in inspect("tools/list")["tools"]]
    assert "ops" in names and "thread_status" in names
    said = ("--tool-name", "echo", "--tool-arg", "message=hello", "--tool-arg", f"thread={thread}")
    done = inspect("tools/call", *said)
    assert done["structuredContent"]["text"] == "You said hello."
    listed = inspect("resources/list")["resources"]
    (address,) = [one["uri"] for one in listed if one["name"] == f"echo: {thread}"]
    (read,) = inspect("resources/read", "--uri", address)["contents"]
    assert [m["content"] for m in json.loads(read["text"])["messages"]] == [
        "hello", "You said hello.",
    ]  # fmt: skip
