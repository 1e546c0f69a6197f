"""With an `ag_ui` package that declares more, nothing of it is left out on the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ag_ui
import pytest

SCRIPT = """
import json
from ag_ui.core import (
    ReasoningEncryptedValueEvent, TextMessageChunkEvent, TextMessageContentEvent,
    TextMessageStartEvent, ToolCallArgsEvent, ToolCallStartEvent,
)
from agui_bridge.client import Conversation
from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from agui_bridge_agui.client_view import model_of

told, lifecycle = [], Lifecycle(iter("abcdefgh").__next__)
for event in (
    TextMessageStartEvent(message_id="m", role="assistant", tone="warm"),
    TextMessageContentEvent(message_id="m", delta="Hi.", tone="warm"),
    ToolCallStartEvent(tool_call_id="c", tool_call_name="f", tone="warm"),
    ToolCallArgsEvent(tool_call_id="c", delta="{}", tone="warm"),
    TextMessageChunkEvent(message_id="n", delta="Ho.", tone="warm"),
    ReasoningEncryptedValueEvent(
        subtype="message", entity_id="m", encrypted_value="v", tone="warm"
    ),
):
    told += lifecycle.feed(event)
read = []
conversation = Conversation()
started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
for event in (started, *told):
    read += conversation.apply(event)
relayed = [model_of(event).model_dump(mode="json", by_alias=True) for event in read]
print(json.dumps([told, read[1:], relayed[1:]]))
"""


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A folder with the package, in which every event may have a tone."""
    (source,) = ag_ui.__path__
    shutil.copytree(source, tmp_path / "ag_ui")
    models = tmp_path / "ag_ui" / "_generated" / "models.py"
    text = models.read_text()
    before = "\n\nclass BaseMessage(GeneratedBaseModel):"
    assert text.count(before) == 1
    models.write_text(
        text.replace(before, f"    tone: Optional[str] = Field(default=None)\n{before}")
    )
    return tmp_path


def test_a_member_that_a_newer_package_declares_is_told_read_and_relayed(newer: Path) -> None:
    path = os.pathsep.join([str(newer), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    streams: list[list[dict[str, Any]]] = json.loads(done.stdout)
    for events in streams:
        # The ends are the engine's own.
        kinds = [event["type"] for event in events if event.get("tone") == "warm"]
        assert kinds == [
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "REASONING_ENCRYPTED_VALUE",
        ]
