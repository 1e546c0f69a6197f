"""A schema-driven client lets loose on a real server finds no 500 and nothing undocumented."""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_bridge import Principal, Refused
from agui_bridge.a2a.card import A2A_AGENT, A2A_CARD
from agui_bridge.http.app.openapi import OPERATIONS
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.shapes.readable_schema import OF_IDS, within
from examples.approval_target import make_bridge
from tests.support import unavailable
from tests.support.examples import few_or_many
from tests.support.server import client, post, run_input, serve

SPARE: Final = 6
ASKING: Final = {"send": "send ann", "both": "both bob", "form": "form ann", "confirm": "confirm x"}

RUNS: Final = (
    "/agents/{agent}",
    "/agents/{agent}/threads/{thread}/connect",
    "/copilotkit",
    "/copilotkit/agent/{agent}/run",
    "/copilotkit/agent/{agent}/connect",
)
"""The paths that answer with AG-UI streams."""

SWITCHED_OFF: Final = {("POST", "/mcp"), ("GET", A2A_CARD), ("POST", A2A_AGENT)}

PLACES: Final = (
    ("interrupts", 2, "{ref}"),
    ("agents", 2, "{agent}"),
    ("agents", 4, "{thread}"),
    ("copilotkit", 3, "{agent}"),
    ("copilotkit", 5, "{thread}"),
)
"""By a path's first segment, which of its segments are parameters."""

CONFIGURATION: Final = """
[generation]
# Refused everywhere, which JSON Schema has no word for.
allow-x00 = false
codec = "utf-8"
# Unknown members of a query are ignored; the fuzzer wants them refused.
allow-extra-parameters = false

[phases.coverage]
unexpected-methods = ["PUT"]

# Each part of each kind of message would be a run; fuzzing sends some of them.
[[operations]]
include-operation-id = [
    "runAgent", "connectThread", "runCopilotkitAgent", "connectCopilotkitAgent", "callCopilotkit",
]
phases.coverage.enabled = false

# Following a link it takes the valid body for a spoilt one. runAgent has the same body.
[[operations]]
include-operation-id = ["connectThread"]
checks.negative_data_rejection.enabled = false

[checks.negative_data_rejection]
expected-statuses = [400, 404, 413, 415, 422]
"""


def by_key(request: Request) -> Principal:
    if request.headers.get("authorization") != "Bearer key":
        raise Refused("UNAUTHENTICATED", "Send the key.")
    return Principal()


class Counting:
    """An app that counts what it answers, by method and path of the table and status."""

    def __init__(self, app: ASGIApp) -> None:
        self.seen: Counter[tuple[str, str, int]] = Counter()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = scope["path"].split("/")
                for begin, place, name in PLACES:
                    if path[1] == begin and len(path) > place:
                        path[place] = name
                self.seen[scope["method"], "/".join(path), message["status"]] += 1
            await send(message)

        await self._app(scope, receive, counted if scope["type"] == "http" else send)


async def seed(base: str) -> list[str]:
    """Threads that wait for people, threads to waste, and an idle one; gives the open asks."""
    asks: list[str] = []
    for thread, text in ASKING.items():
        asked = await post(base, "target", **run_input(text, thread=thread))
        asks += [i["id"] for i in asked.events[-1]["outcome"]["interrupts"]]
    wasted = [run_input("send x", thread=f"spare-{number}") for number in range(SPARE)]
    await asyncio.gather(*(post(base, "target", **body) for body in wasted))
    await post(base, "target", **run_input("hello", thread="idle"))
    return asks


def aimed(document: dict[str, Any], asks: list[str]) -> dict[str, Any]:
    """The document with names that there are, so that what is sent hits something."""
    threads = [*ASKING, "idle", "nowhere"]
    spare = [f"spare-{number}" for number in range(SPARE)]
    for item in document["paths"].values():
        for parameter in item.get("parameters", ()):
            if parameter["name"] == "ref":
                parameter["schema"] = {"enum": references(asks)}
                continue
            enum = ["target"] if parameter["name"] == "agent" else threads
            # Also others, since a thread that it calls 0 is none that should be refused.
            parameter["schema"] = {"anyOf": [{"enum": enum}, parameter["schema"]]}
            parameter["example"] = enum[0]
    # OpenAPI has no word for the cursor of an earlier answer, nor for members that exclude others.
    listing = document["paths"]["/interrupts"]["get"]
    untold = ("after", "mine")
    listing["parameters"] = [one for one in listing["parameters"] if one["name"] not in untold]
    wasteful = document["paths"]["/agents/{agent}/threads/{thread}"]["delete"]
    wasteful["parameters"] = [
        {
            "name": "thread",
            "in": "path",
            "required": True,
            "schema": {"anyOf": [{"enum": spare}, {"type": "string", "minLength": 1, **OF_IDS}]},
        }
    ]
    # To stop a thread that nobody has heard of is no error there: every text may be an id.
    stopping = document["paths"]["/copilotkit/agent/{agent}/stop/{thread}"]
    stopping["parameters"][1]["schema"] = {"type": "string", "minLength": 1, **OF_IDS}
    # It judges a stream by the event, of which it knows data and name.
    answers = [
        operation["responses"]["200"]["content"]
        for path in RUNS
        for method, operation in document["paths"][path].items()
        if method in ("get", "post")
    ]
    for content in answers:
        stream = content["text/event-stream"]
        event = stream["schema"].pop("contentSchema")
        data = {"type": "string", "contentMediaType": "application/json", "contentSchema": event}
        stream["schema"] = {"type": "object", "required": ["data"], "properties": {"data": data}}
        del stream["example"]
    for envelope in within(document["paths"]["/copilotkit"]["post"]["requestBody"]):
        for name, known in (("agentId", ["target"]), ("threadId", threads)):
            if name in envelope.get("properties", {}):
                envelope["properties"][name] = {"enum": known}
    aim_chat(document["paths"])
    schemas = document["components"]["schemas"]
    for owner, name, known in (
        ("RunInput", "threadId", threads),
        ("ResumeEntry", "interruptId", asks),
    ):
        members = schemas[owner]["properties"]
        members[name] = {"anyOf": [{"enum": known}, members[name]]}
    aim_connect(document)
    return document


def references(asks: list[str]) -> list[str]:
    """The questions as paths name them, and some that no thread has raised."""
    keys = [ThreadKey("default", "target", thread) for thread in ASKING]
    return [References().write(Reference(key, ask)) for key in keys for ask in asks]


def aim_connect(document: dict[str, Any]) -> None:
    """The body names the thread of the path, which JSON Schema has no word for."""
    connect = document["paths"]["/agents/{agent}/threads/{thread}/connect"]["post"]
    one = {"enum": ["send"]}
    connect["parameters"] += [{"name": "thread", "in": "path", "required": True, "schema": one}]
    body = copy.deepcopy(document["components"]["schemas"]["RunInput"])
    body["properties"]["threadId"] = one
    body["examples"] = [{"threadId": "send", "runId": "run-1", "messages": []}]
    connect["requestBody"]["content"]["application/json"]["schema"] = body


def aim_chat(paths: dict[str, Any]) -> None:
    """The same for the chat API, whose streams are of tokens unless frames are asked for."""
    known: dict[str, list[Any]] = {"agent_id": ["target"], "session_id": ["chat", "confirm"]}
    for parameter in paths["/api/v1/chat/interrupt_state"]["get"]["parameters"]:
        enum = known[parameter["name"]]
        parameter["schema"] = {"anyOf": [{"enum": enum}, parameter["schema"]]}
    for path in ("/api/v1/chat/stream", "/api/v1/chat/resume"):
        operation = paths[path]["post"]
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        for name, enum in {**known, "input": [{"confirm": True}]}.items():
            if name in body["properties"]:
                body["properties"][name] = {"anyOf": [{"enum": enum}, body["properties"][name]]}
        body["examples"] = [
            {"agent_id": "target", "session_id": "chat", "message": "hello"},
            {"agent_id": "target", "session_id": "confirm", "input": {"confirm": True}},
        ][path.endswith("resume") :][:1]
        stream = operation["responses"]["200"]["content"]["text/event-stream"]
        stream["schema"] = {"type": "object"}


@pytest.mark.soak
@pytest.mark.timeout(600)
@few_or_many(2, 20)
async def test_a_fuzzer_that_reads_the_document_finds_nothing_wrong(
    tmp_path: Path, examples: int
) -> None:
    if importlib.util.find_spec("schemathesis") is None:
        unavailable("schemathesis", "install the dependency group `fuzz`")
    bridge = make_bridge(f"sqlite:///{tmp_path}/fuzzed.db", tmp_path / "effects.jsonl")
    app = Counting(bridge.app(anonymous=True))
    async with serve(app) as base:
        asks = await seed(base)
        bridge.authenticate = by_key
        async with client(base) as http:
            document = (await http.get("/openapi.json")).json()
        (tmp_path / "aimed.json").write_text(json.dumps(aimed(document, asks)))
        (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
        app.seen.clear()
        said, status = await fuzz(tmp_path, base, examples)
        async with client(base) as http:
            assert (await http.get("/readyz")).status_code == 200
    assert status == 0, said
    failed = {key: count for key, count in app.seen.items() if key[2] >= 500}
    assert failed == {}, said
    for method, path in OPERATIONS.keys() - SWITCHED_OFF:
        statuses = {code for m, p, code in app.seen if (m, p) == (method, path)}
        assert statuses & {200, 204}, f"nothing got through to {method} {path}: {statuses}"


async def fuzz(folder: Path, base: str, examples: int) -> tuple[str, int | None]:
    """Let schemathesis run to its end, with a fixed seed."""
    options = f"run aimed.json --seed 1 --max-examples {examples} --checks all"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "ignore", "-m", "schemathesis.cli", *options.split(),
        "--warnings", "off", "--no-color", "--url", base, "-H", "Authorization: Bearer key",
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return said.decode(errors="replace"), process.returncode
