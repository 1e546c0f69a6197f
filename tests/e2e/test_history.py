"""The conversation that a client has is the thread's: reloading, going back, regenerating."""

import pytest

from tests.e2e.clients import OpenPage, Page, resolved
from tests.e2e.target import Target

INTERRUPT_FIELDS = ("id", "reason", "message", "toolCallId", "responseSchema")


def texts(page: Page) -> list[str]:
    """What was said, without tool calls and their results."""
    return [m["content"] for m in page.messages if "content" in m and m["role"] != "tool"]


@pytest.mark.feature("HttpAgent", "rewrite")
def test_an_edited_message_supersedes_what_followed_it(page: Page) -> None:
    page.say("one")
    page.say("two")
    page.say("three")
    page.rewrite(page.messages[:2])
    page.say("two, edited")
    assert texts(page) == ["one", "You said: one", "two, edited", "You said: two, edited"]
    page.say("and on")
    assert texts(page)[4:] == ["and on", "You said: and on"]


def test_regenerating_replaces_the_last_reply(page: Page) -> None:
    page.say("one")
    page.say("two")
    before = page.messages
    page.rewrite(before[:-1])
    page.rerun()
    assert texts(page) == ["one", "You said: one", "two", "You said: two"]
    assert page.messages[:-1] == before[:-1]
    assert page.messages[-1]["id"] != before[-1]["id"]


def test_a_list_that_ends_before_an_answered_call_takes_it_back_only_with_the_sign(
    page: Page, target: Target, name: str
) -> None:
    page.say("one")
    page.say(f"send {name}")
    page.answer(resolved(page.pending[0], {"approved": True}))
    page.rewrite(page.messages[:2])
    page.say(f"send {name}")
    page.answer(resolved(page.pending[0], {"approved": False}))
    asked, sent = f"send {name}", f"Outcome: sent to {name}-0@example.com."
    assert texts(page) == ["one", "You said: one", asked, sent, asked, "Outcome: not sent."]
    assert len(target.executed(name)) == 1


def test_one_does_not_go_back_behind_an_open_question(
    open_page: OpenPage, target: Target, name: str
) -> None:
    asking = open_page()
    asking.say("one")
    asking.say(f"send {name}")
    page = open_page(messages=asking.messages[:2])
    refused = page.say("instead of that")
    assert (refused.refused, refused.outcome) == ("INTERRUPT_PENDING", "interrupt")
    assert page.pending == asking.pending
    assert page.messages == asking.messages
    page.answer(resolved(page.pending[0], {"approved": True}))
    assert len(target.executed(name)) == 1


def test_a_reloaded_page_gets_what_the_old_one_had_and_answers(
    open_page: OpenPage, target: Target, name: str
) -> None:
    old = open_page(state={"draft": 1})
    old.say("one")
    old.say(f"both {name}")
    thread = target.thread(old.thread)

    assert (thread["status"], thread["state"]) == ("interrupted", {"draft": 1})
    assert thread["messages"] == old.messages
    offered = [{k: ask[k] for k in INTERRUPT_FIELDS} for ask in thread["interrupts"]]
    assert offered == old.pending
    assert [ask["toolCall"]["args"]["to"] for ask in thread["interrupts"]] == [
        f"{name}-0@example.com",
        f"{name}-1@example.com",
    ]

    new = open_page(messages=thread["messages"], state=thread["state"], pendingInterrupts=offered)
    first, second = new.pending
    new.answer(resolved(first, {"approved": True}), resolved(second, {"approved": True}))
    assert new.messages[: len(old.messages)] == old.messages
    assert len(target.executed(name)) == 2


def test_an_answer_without_messages_or_state_keeps_both(
    open_page: OpenPage, target: Target, name: str
) -> None:
    old = open_page(state={"draft": 1})
    old.say("one")
    old.say(f"send {name}")
    new = open_page(pendingInterrupts=old.pending)
    new.answer(resolved(new.pending[0], {"approved": True}))
    assert new.messages[: len(old.messages)] == old.messages
    assert new.state == {"draft": 1}
    assert len(target.executed(name)) == 1


def test_what_a_page_has_its_agent_say_first_stays_over_a_pause_and_a_reload(
    open_page: OpenPage, name: str
) -> None:
    greeting = {"id": "greeting", "role": "assistant", "content": "How can I help?"}
    page = open_page(messages=[greeting])
    page.say(f"send {name}")
    page.answer(resolved(page.pending[0], {"approved": True}))
    page.say("hello")
    assert texts(page)[0] == "How can I help?"
    page.agrees()
    again = open_page()
    again.take(again.begin_to_come_back())
    assert texts(again)[0] == "How can I help?"
