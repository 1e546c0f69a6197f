"""What a tool returned, as the text of a TOOL_CALL_RESULT."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from agui_bridge.protocol.threads.records import Json

FAILED: Final = "The tool failed."
VOID: Final = "The tool ran and returned nothing."
KEPT: Final = (
    "The tool was continued with the answer. Mastra keeps its result until all that waits beside "
    "it is answered."
)
_WORKFLOW_FAILED: Final = "The workflow failed."


def result_text(value: Json) -> str:
    """A tool's result as text.

    Of a sub-agent or a workflow that was called as a tool it is what it said, without the ids of
    its own thread and run at Mastra: whoever has them can continue it.
    """
    if isinstance(value, Mapping):
        if "subAgentThreadId" in value:
            value = value.get("text") or value.get("object") or ""
        elif value.keys() == {"result", "runId"}:
            value = value["result"]
        elif value.keys() == {"error", "runId"}:
            value = _WORKFLOW_FAILED
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
