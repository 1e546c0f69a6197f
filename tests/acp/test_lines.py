"""Lines that are no request, or come too early, get an error each, and end nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.acp.editor import ROOT, command_of


def test_each_line_that_asks_for_what_is_not_there_gets_its_error(folder: Path) -> None:
    new = {"method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
    image = [{"type": "image", "data": "", "mimeType": "image/png"}]
    lines: list[Any] = [
        {"id": 1, **new},
        {"id": 2, "method": "session/fork", "params": {}},
        {"id": 3, "method": "initialize", "params": {"protocolVersion": 2}},
        {"id": 4, "method": "session/prompt", "params": {"sessionId": "s", "prompt": image}},
        {"id": 5, "method": "session/load", "params": {"sessionId": "s", "cwd": "/"}},
        {"id": 77, "result": {"outcome": {"outcome": "selected", "optionId": "approve"}}},
        {"method": "session/cancel", "params": {"sessionId": "s"}},
        [1],
        {"id": 6, **new},
    ]
    sent = [json.dumps({"jsonrpc": "2.0", **e} if isinstance(e, dict) else e) for e in lines]
    ended = subprocess.run(
        command_of("echo"),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="\n".join(["no json", *sent, ""]),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    codes = {each["id"]: each["error"]["code"] for each in told if each.get("error") and each["id"]}
    assert codes == {1: -32600, 2: -32601, 4: -32602, 5: -32002}
    assert [e["error"]["code"] for e in told if e["id"] is None] == [-32700, -32600]
    results = {each["id"]: each["result"] for each in told if "result" in each}
    assert results[3]["protocolVersion"] == 1 and results[6]["sessionId"]
