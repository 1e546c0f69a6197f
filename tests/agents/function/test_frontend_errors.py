"""A tool of the application that failed there fails in the function, at every replay."""

from typing import Any

import pytest

from agui_bridge import FrontendToolError, StepFailed
from agui_bridge.agents.function.run import FunctionRun
from tests.agents.function.harness import Thread, yes

pytestmark = pytest.mark.anyio

PARTS = [{"type": "text", "text": "half a photo"}]


def returned(content: Any, error: str | None) -> dict[str, Any]:
    message = {"id": "m", "role": "tool", "toolCallId": "id0", "content": content}
    return message if error is None else {**message, "error": error}


@pytest.mark.parametrize(
    ("content", "error", "told"),
    [
        ("", "no camera", ("no camera", "")),
        ("half a photo", "no camera", ("no camera", "half a photo")),
        (PARTS, "no camera", ("no camera", PARTS)),
        ("a photo", None, "a photo"),
        ("a photo", "", "a photo"),
        ("", None, ""),
        (PARTS, None, PARTS),
    ],
)
@pytest.mark.parametrize("by_message", [False, True])
async def test_an_error_is_raised_with_its_text_and_what_came_with_it(
    content: Any, error: str | None, told: Any, by_message: bool
) -> None:
    seen: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        try:
            seen.append(await run.frontend_tool("take_photo", {}))
        except FrontendToolError as failed:
            seen.append((failed.text, failed.content))
        await run.confirm("again?")
        await run.confirm("really?")

    thread = Thread(lambda: agent)
    await thread.go()
    given = {} if by_message else {"id0": "told in words"}
    await thread.hand_back(given, raw_messages=[returned(content, error)])
    # From here on the journal has it, whatever the conversation has.
    await thread.answer(yes)
    await thread.answer(yes)
    assert seen == [told] * 3


async def test_an_error_that_nobody_catches_ends_the_run_with_it() -> None:
    async def agent(run: FunctionRun) -> None:
        await run.frontend_tool("take_photo", {})

    thread = Thread(lambda: agent)
    await thread.go()
    with pytest.raises(StepFailed, match=r"run\.frontend_tool\('take_photo', .*\) failed: .*no c"):
        await thread.hand_back({}, raw_messages=[returned("", "no camera")])
