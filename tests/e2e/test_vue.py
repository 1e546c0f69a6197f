"""The newest TanStack AI for Vue that the registry has shows what an agent says and calls.

It knows no interrupts, so what an agent asks is answered elsewhere, in the inbox for example.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess

from tests.e2e.lines import HERE, PATIENCE
from tests.e2e.target import Target
from tests.support import unavailable
from tests.support.target import approve


def test_a_component_shows_what_is_said_and_the_call_that_waits(target: Target, name: str) -> None:
    node = shutil.which("node")
    if node is None:
        unavailable("Node.js", "install version 20 or later")
    thread = f"thread-{secrets.token_hex(6)}"
    ran = subprocess.run(
        [node, HERE / "vue.mjs", target.url, thread, "hello", f"send {name}"],
        cwd=HERE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    told = json.loads(ran.stdout)
    assert told["error"] is None
    assert [message["role"] for message in told["shown"]] == ["user", "assistant"] * 2
    assert told["shown"][1]["parts"] == [{"type": "text", "content": "You said: hello"}]
    [call] = told["shown"][3]["parts"]
    assert json.loads(call["arguments"])["to"] == f"{name}-0@example.com"

    [ask] = target.thread(thread)["interrupts"]
    assert target.executed(name) == []
    target.send(thread, resume=[approve(ask)])
    assert len(target.executed(name)) == 1
