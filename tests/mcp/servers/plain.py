"""An MCP server without the SDK, over stdio: what a server of the SDK would not do, this one does.

    python -m tests.mcp.servers.plain EFFECTS [--older]

It speaks 2026-07-28, or 2025-11-25 only: then `asks` asks within the call.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["main"]

VERSION = "2026-07-28"
FORM = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}


def elicit(**params: Any) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"mode": "form", "message": "?", **params}}


def asking(requests: dict[str, Any], state: str | None = None) -> dict[str, Any]:
    told: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
    return told if state is None else {**told, "requestState": state}


def said(text: str) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": text}]}


TOOLS = (
    *("sample", "nested", "many", "states", "endless", "loops", "crowd", "hang", "garbage"),
    *("long_line", "many_lines", "lies", "error", "child"),
)


def answer(request: dict[str, Any], effects: Path) -> dict[str, Any]:
    """The result of a request, or its error."""
    method, params = request["method"], request.get("params") or {}
    if method == "server/discover":
        found = {"supportedVersions": [VERSION], "capabilities": {"tools": {}}}
        return {"result": {**found, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}}
    if method == "tools/list":
        schema = {"type": "object"}
        tools: list[dict[str, Any]] = [{"name": n, "inputSchema": schema} for n in TOOLS]
        tools[TOOLS.index("lies")]["outputSchema"] = {
            "type": "object",
            "required": ["n"],
            "properties": {"n": {"type": "integer"}},
        }
        more = {"nextCursor": "on"} if Path(f"{effects}.endless").exists() else {}
        page = {"tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
        return {"result": {**page, **more}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": method}}
    with effects.open("a") as file:
        file.write(f"{params['name']}\n")
    given = params.get("inputResponses")
    match params["name"]:
        case "sample":
            wanted = {"messages": [], "maxTokens": 5}
            asked = {"s": {"method": "sampling/createMessage", "params": wanted}}
            return {"result": asking(asked)}
        case "nested":
            inner = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
            return {"result": asking({"n": elicit(requestedSchema=inner)})}
        case "many":
            return {"result": asking({str(n): elicit(requestedSchema=FORM) for n in range(11)})}
        case "states":
            asked = {"n": elicit(requestedSchema=FORM)}
            return {"result": said("ok") if given else asking(asked, "x" * 100_000)}
        case "endless":
            return {"result": asking({"n": elicit(requestedSchema=FORM)}, "again")}
        case "loops":
            return {"result": {"resultType": "input_required", "requestState": "again"}}
        case "crowd":
            return {"result": said("\n".join(map(str, given or ())))}
        case "hang":
            time.sleep(60)
        case "child":
            # It ignores the end of its input, and has started something that does, too.
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            return {"result": said(f"{os.getpid()} {child.pid}")}
        case "lies":
            return {"result": {**said("three"), "structuredContent": {"n": "three"}}}
        case "error":
            return {"error": {"code": -32603, "message": "it broke"}}
    return {"result": said("ok")}


HINTS = {"asks": {}, "asks_safely": {"idempotentHint": True}}


def ask_within(params: dict[str, Any], effects: Path) -> dict[str, Any]:
    """A call of an older server: it asks, waits for the answer, and acts by it."""
    form = {"mode": "form", "message": "The code?", "requestedSchema": FORM}
    asked = {"id": "e1", "method": "elicitation/create", "params": form}
    print(json.dumps({"jsonrpc": "2.0", **asked}), flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        if told.get("id") == "e1":
            break
    found = told.get("result") or {}
    with effects.open("a") as file:
        file.write(f"{params['name']} {found.get('action')} {found.get('content')}\n")
    return {"result": {"content": [{"type": "text", "text": f"action {found.get('action')}"}]}}


def answer_older(request: dict[str, Any], effects: Path) -> dict[str, Any]:
    """The same of a server of 2025-11-25."""
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        who = {"name": "plain", "version": "1"}
        own = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}
        return {"result": own}
    if method == "tools/list":
        schema = {"type": "object"}
        tools = [{"name": n, "inputSchema": schema, "annotations": h} for n, h in HINTS.items()]
        return {"result": {"tools": tools}}
    if method == "tools/call":
        return ask_within(params, effects)
    return {"error": {"code": -32601, "message": method}}


def main() -> None:
    """Answer what comes over stdio, line by line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("effects", type=Path)
    parser.add_argument("--older", action="store_true")
    options = parser.parse_args()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        told = (answer_older if options.older else answer)(request, options.effects)
        name = (request.get("params") or {}).get("name")
        if name == "garbage":
            print("this is no JSON", flush=True)
        while name == "many_lines":
            note = {"method": "notifications/message", "params": {"level": "info", "data": "x"}}
            print(json.dumps({"jsonrpc": "2.0", **note}), flush=True)
        if name == "long_line":
            while True:
                sys.stdout.write("x" * 65536)
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **told}), flush=True)


if __name__ == "__main__":
    main()
