"""Real clients take the user's message that an answer becomes, and send it back as theirs."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from agui_bridge import Bridge, FunctionRun, KeywordAdapter
from tests.e2e.clients import Driver, Page, resolved
from tests.support.server import serve

YES = "Yes, I confirm. Please proceed."


class Served:
    """A served bridge, as a page looks at it."""

    def __init__(self, base: str, loop: asyncio.AbstractEventLoop) -> None:
        self.url = f"{base}/agents/cleaner"
        self.loop = loop

    def thread(self, thread: str) -> Any:
        """A thread, as whoever reloads gets it."""
        return httpx.get(f"{self.url}/threads/{thread}", trust_env=False).json()


DELETED: list[int] = []


def delete(rows: int) -> str:
    DELETED.append(rows)
    return f"Deleted {rows}."


async def agent(run: FunctionRun) -> AsyncIterator[str]:
    if run.text == YES:
        yield await run.call("delete", {"rows": 3}, delete)
    elif run.text == "by the rules":
        yield "Legal is waiting for your confirmation. "
        yield await run.call("delete", {"rows": 3}, delete)
    elif run.text.startswith("No,"):
        yield "Left alone."
    elif run.text == "thanks":
        yield f"I have {len(run.messages)} messages."
    else:
        yield "Please confirm: delete 3 rows."


@pytest.fixture
def page(driver: Driver) -> Iterator[Page]:
    """A page of a server that runs in a thread of its own."""
    started, done = threading.Event(), asyncio.Event()
    served: list[Served] = []

    async def main() -> None:
        bridge = Bridge()
        bridge.add("cleaner", KeywordAdapter(agent))
        async with serve(bridge.app(anonymous=True)) as base:
            served.append(Served(base, asyncio.get_running_loop()))
            started.set()
            await done.wait()

    server = threading.Thread(target=asyncio.run, args=(main(),))
    server.start()
    assert started.wait(15)
    page = Page(driver, served[0], "thread")  # type: ignore[arg-type]  # it is as good as a Target
    printed = len(driver.printed)
    yield page
    page.close()
    served[0].loop.call_soon_threadsafe(done.set)
    server.join(15)
    assert driver.printed[printed:] == []


def test_the_answer_is_a_message_of_the_user_in_every_list(page: Page) -> None:
    page.say("clean up")
    [ask] = page.pending
    assert (ask["reason"], ask["message"]) == ("confirmation", "Please confirm: delete 3 rows.")

    answered = page.answer(resolved(ask, {"confirm": True}))
    assert answered.outcome == "success"
    told = [(m["role"], m.get("content")) for m in page.messages if m["role"] != "tool"]
    assert told[:3] == [
        ("user", "clean up"),
        ("assistant", "Please confirm: delete 3 rows."),
        ("user", YES),
    ]
    assert page.last_text == "Deleted 3."

    known = len(page.messages)
    page.say("thanks")
    assert page.last_text == f"I have {known + 1} messages."


def test_an_act_after_a_sentence_without_a_card_is_asked_about_and_carried_out_once(
    page: Page,
) -> None:
    DELETED.clear()
    page.say("by the rules")
    [ask] = page.pending
    assert (ask["message"], DELETED) == ("Legal is waiting for your confirmation.", [])

    declined = page.answer(resolved(ask, {"confirm": False}))
    assert (declined.outcome, DELETED) == ("success", [])

    page.say("by the rules")
    [ask] = page.pending
    assert page.answer(resolved(ask, {"confirm": True})).outcome == "success"
    assert (page.last_text, DELETED) == ("Deleted 3.", [3])
