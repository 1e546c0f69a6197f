"""What the tests on a real Mastra server notice: chunks that the adapter has never seen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.mastra.replay import Server
from tests.adapters.mastra.scripted import FINISH, Talk, agent, stream
from tests.e2e.mastra import unknown_chunks

NEW = "is of a type that this adapter does not know"


@pytest.mark.parametrize(
    ("chunk", "noted"),
    [
        (agent("telepathy", thought=1), {f"'telepathy' of Mastra's {NEW}"}),
        (
            agent("tool-output", toolCallId="c", toolName="workflow-w",
                  output={"type": "workflow-rewound", "payload": {}}),
            {f"'workflow-rewound' of Mastra's {NEW}"},
        ),
        (
            agent("tool-call", toolCallId=7),
            {"'tool-call' of Mastra's has an unknown shape (TypeError)"},
        ),
        (agent("step-start"), set()),
        (agent("source", url="https://x.test"), set()),
    ],
    ids=["type", "type of a workflow's", "shape", "silent", "known"],
)  # fmt: skip
async def test_a_chunk_that_is_new_is_noticed_and_ends_no_run(
    chunk: dict[str, Any], noted: set[str]
) -> None:
    talk = Talk(Server(stream(chunk, FINISH)))
    with unknown_chunks() as unknown:
        await talk.say("go")

    assert unknown == noted
    assert talk.events[-1]["outcome"] == {"type": "success"}
