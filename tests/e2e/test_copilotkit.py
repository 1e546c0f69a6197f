"""CopilotKit's real core against the bridge, without its Node runtime: both kinds of routes."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.clients import Driver
from tests.e2e.copilotkit import PACKAGE, VERSION, Page, Way
from tests.e2e.lines import Reply
from tests.e2e.target import Target

OpenPage = Callable[[], Page]

APPROVE = {"approved": True}


@pytest.fixture(scope="module")
def core() -> Iterator[Driver]:
    driver = Driver(VERSION, PACKAGE, "copilotkit.mjs")
    yield driver
    driver.close()


@pytest.fixture(params=["rest", "single"])
def way(request: pytest.FixtureRequest) -> Way:
    way: Way = request.param
    return way


@pytest.fixture
def thread() -> str:
    return f"thread-{secrets.token_hex(6)}"


@pytest.fixture
def open_page(core: Driver, target: Target, way: Way, thread: str) -> OpenPage:
    """Opens pages on the test's thread."""
    return lambda: Page(core, target, way, thread)


def reply(interrupt: dict[str, Any], payload: Any = APPROVE) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def cancel(interrupt: dict[str, Any]) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "cancelled"}


def texts(page: Page) -> list[str]:
    return [m.get("content", "") for m in page.messages if m["role"] == "assistant"]


@pytest.mark.parametrize("way, found", [("auto", "rest"), ("rest", "rest"), ("single", "single")])
def test_the_client_finds_the_agents(open_page: OpenPage, found: str) -> None:
    page = open_page()

    assert (page.agents, page.way) == (["target"], found)


def test_a_message_is_answered(open_page: OpenPage) -> None:
    page = open_page().connect().say("hello")

    assert texts(page) == ["You said: hello"]
    assert page.errors == []


def test_an_approval_runs_the_tool_once_and_its_real_result_is_shown(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page().say(f"send {name}")
    [ask] = page.pending
    page.answer(reply(ask))

    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]
    # The tool message that the client made of the answer is gone.
    results = [m["content"] for m in page.messages if m["role"] == "tool"]
    assert results == [f"sent to {name}-0@example.com"]
    assert page.errors == [] and page.pending == []


def test_edited_arguments_are_what_runs(open_page: OpenPage, target: Target, name: str) -> None:
    page = open_page().say(f"send {name}")
    edited = {"to": f"{name}-9@example.com", "body": "edited"}
    page.answer(reply(page.pending[0], {"approved": True, "editedArgs": edited}))

    assert [(line["to"], line["body"]) for line in target.executed(name)] == [
        (edited["to"], "edited")
    ]


@pytest.mark.parametrize("answer", [cancel, lambda ask: reply(ask, {"approved": False})])
def test_what_is_not_approved_does_not_run(
    open_page: OpenPage, target: Target, name: str, answer: Callable[[Any], Any]
) -> None:
    page = open_page().say(f"send {name}")
    page.answer(answer(page.pending[0]))

    assert texts(page)[-1].endswith("not sent.")
    assert target.executed(name) == []


def test_two_questions_are_answered_together(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page().say(f"both {name}")
    first, second = page.pending
    page.answer(reply(first), cancel(second))

    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]


def test_a_refused_payload_keeps_the_question_and_a_good_one_is_taken(
    open_page: OpenPage, target: Target, name: str
) -> None:
    page = open_page().say(f"send {name}")
    [ask] = page.pending
    page.answer(reply(ask, {"approved": "yes"}))
    assert page.refused == "INVALID_RESUME_PAYLOAD"
    assert page.pending == [ask] and target.executed(name) == []

    page.answer(reply(ask))
    assert page.refused is None and len(target.executed(name)) == 1


def test_a_reload_shows_the_open_question_and_it_can_be_answered(
    open_page: OpenPage, target: Target, name: str
) -> None:
    before = open_page().say(f"send {name}")
    page = open_page().connect()
    assert page.messages == before.messages
    assert page.pending == before.pending

    page.answer(reply(page.pending[0]))
    assert len(target.executed(name)) == 1
    assert page.pending == [] and page.errors == []


def test_two_tabs_that_answer_differently_get_one_of_the_two(
    open_page: OpenPage, target: Target, name: str
) -> None:
    one = open_page().say(f"send {name}")
    other = open_page().connect()
    one.answer(reply(one.pending[0]))
    other.answer(cancel(other.pending[0]))

    assert other.refused == "INTERRUPT_ALREADY_ANSWERED"
    assert len(target.executed(name)) == 1
    assert other.messages == one.messages
    assert other.say("and now").refused is None


def test_a_page_that_connects_twice_shows_everything_once(open_page: OpenPage) -> None:
    open_page().say("hello")
    page = open_page()
    first, second = page.begin_connect(), page.begin_connect()
    page.take(first)
    page.take(second).agrees()

    assert texts(page) == ["You said: hello"]


def test_a_message_typed_by_a_page_that_does_not_know_the_question_brings_it_back(
    open_page: OpenPage, target: Target, name: str
) -> None:
    [ask] = open_page().say(f"send {name}").pending
    page = open_page().say("never mind")
    assert page.refused == "INTERRUPT_PENDING"
    assert page.pending == [ask]

    page.answer(cancel(ask))
    assert target.executed(name) == []


def streamed(reply: Reply) -> str:
    """The text that has reached the page so far."""
    return "".join(e["delta"] for e in reply.events if e["type"] == "TEXT_MESSAGE_CONTENT")


def test_a_reload_follows_the_run_live_to_its_end(open_page: OpenPage) -> None:
    before = open_page()
    first = before.begin_say("slow 30")
    first.until("TEXT_MESSAGE_CONTENT", 3)
    page = open_page()
    following = page.begin_connect()
    following.until("TEXT_MESSAGE_CONTENT", 4)
    # It came late, got the beginning in one piece, and the rest as it happened.
    assert streamed(following).startswith("0 1 2 ")
    page.take(following).agrees()
    before.take(first).agrees()

    assert texts(page) == texts(before) == ["".join(f"{n} " for n in range(30))]
    assert page.say("go on").refused is None


@pytest.mark.parametrize("where", ["the page that began it", "a page that was reloaded"])
def test_stop_ends_every_page_and_keeps_the_partial_text(open_page: OpenPage, where: str) -> None:
    one, other = open_page(), open_page()
    first = one.begin_say("slow 100")
    first.until("TEXT_MESSAGE_CONTENT", 3)
    second = other.begin_connect()
    second.until("TEXT_MESSAGE_CONTENT", 2)
    (one if where == "the page that began it" else other).stop()
    one.take(first)
    other.take(second)

    assert one.errors == other.errors == []
    assert one.messages == other.messages
    assert texts(one)[0].startswith("0 1 2 ") and "99" not in texts(one)[0]
    # The server's own copy is marked as cut off, which a page is told when it connects.
    other.connect()
    one.take(one.begin_say("go on"))
    assert texts(one)[-1] == "You said: go on"


def test_a_run_outlives_the_connection_that_began_it(open_page: OpenPage) -> None:
    page = open_page()
    begun = page.begin_say("slow 20")
    begun.until("TEXT_MESSAGE_CONTENT", 2)
    # Coming to the thread anew detaches what the page was reading, which breaks its connection.
    page.take(page.begin_connect()).agrees()
    begun.result()

    assert texts(page) == ["".join(f"{n} " for n in range(20))]


@pytest.mark.feature("CopilotKit", "page tool")
def test_a_tool_of_the_page_runs_there_and_its_result_goes_on(
    open_page: OpenPage, name: str
) -> None:
    page = open_page().say(f"frontend {name}")
    assert (page.refused, page.errors) == (None, [])
    assert [m["content"] for m in page.messages if m["role"] == "tool"] == [f"the page {name}"]
    assert page.messages[-1]["content"] == f"Shown: the page {name}."


@pytest.mark.feature("CopilotKit", "page state")
def test_a_state_that_the_page_sets_is_kept(open_page: OpenPage, name: str) -> None:
    page = open_page()
    page.share({"theme": "dark"})
    page.say(f"confirm {name}")
    page.answer(reply(page.pending[0], {"confirm": True}))
    assert page.state == {"theme": "dark"}
    assert open_page().connect().state == {"theme": "dark"}
