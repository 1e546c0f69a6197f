"""A list that ends early: what it takes back, and what it does not, whoever sends it."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agui_bridge.adapters import Handoff
from agui_bridge.client.conversation import Conversation
from agui_bridge.errors import Refused
from tests.engine.input.shop import Shop, kept_reason, sign, texts_of, texts_told
from tests.support.agents import Bench, Scripted, call_events, outcome, result, users

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "text": {"read_only_tools": ("look",)},
    "ungated": {"going_back": "ungated"},
    "signed": {"going_back": "signed"},
    "always": {"going_back": "always"},
}

# What the thread has done, the settings, whether the page gives the sign: why it is kept.
KEPT_BY: Final = {
    ("hello", "text", False): (None, None),
    ("look x", "text", False): (None, None),
    ("log x", "text", False): ("calls", "calls"),
    ("pay x", "text", False): ("calls", "calls"),
    ("log x", "ungated", False): ("calls", None),
    ("pay x", "ungated", False): ("calls", "calls"),
    ("hello", "signed", False): ("unsigned", "unsigned"),
    ("pay x", "always", False): (None, None),
    ("hello", "signed", True): (None, None),
    ("log x", "text", True): (None, None),
    ("pay x", "text", True): (None, None),
}
"""Of an edit of the second message, and of a wish for another answer to it."""


async def thread_of(did: str, settings: str) -> Shop:
    """A thread of two turns, the second of which did something."""
    shop = Shop(**SETTINGS[settings])
    await shop.say("first")
    if did.startswith("pay"):
        await shop.pay("x", await shop.shown())
    else:
        await shop.say(messages=[*await shop.shown(), *users(did)])
    return shop


@pytest.mark.parametrize("wish", ["edit", "regenerate"])
@pytest.mark.parametrize(("did", "settings", "signed"), KEPT_BY)
async def test_what_a_list_that_ends_early_takes_back(
    did: str, settings: str, signed: bool, wish: str
) -> None:
    shop = await thread_of(did, settings)
    before, done = await shop.shown(), list(shop.done)
    reason = KEPT_BY[did, settings, signed][wish == "regenerate"]
    sent = [*before[:2], *users("other")] if wish == "edit" else before[:3]

    events = await shop.say(messages=sent, **(sign(before[-1]["id"]) if signed else {}))

    assert kept_reason(events) == reason
    now = await shop.shown()
    if reason is None:
        assert [m["id"] for m in now[:3]] == [m["id"] for m in sent]
        assert shop.heard[-1] == ("other" if wish == "edit" else did)
    else:
        assert now[: len(before)] == before
        assert [m["content"] for m in now[len(before) :] if m["role"] == "user"] == (
            ["other"] if wish == "edit" else []
        )
        if wish == "regenerate":
            assert shop.done == done
        # The page shows what the thread is.
        assert texts_told(events) == texts_of(now)


async def test_a_tab_that_is_behind_takes_no_payment_back_and_none_is_made_twice() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    await shop.pay("Ann", both)
    one = await shop.shown()

    events = await shop.say(messages=[*both, *users("tab two")])
    assert kept_reason(events) == "calls"
    assert texts_of(await shop.shown()) == ["hello", "pay Ann", "paid Ann", "tab two"]
    await shop.say(messages=[*one, *users("tab one")])
    # What was only said gives way.
    assert texts_of(await shop.shown()) == ["hello", "pay Ann", "paid Ann", "tab one"]
    assert shop.done == ["pay Ann"]


async def test_a_sign_that_names_another_message_is_of_a_page_that_is_behind() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    await shop.pay("Ann", both)
    for sent in (both[:1], [*both[:1], *users("other")], users("first of all")):
        events = await shop.say(messages=sent, **sign(both[-1]["id"]))
        assert kept_reason(events) == "behind"
    assert shop.done == ["pay Ann"]
    assert texts_of(await shop.shown())[:3] == ["hello", "pay Ann", "paid Ann"]


async def test_with_the_sign_the_first_message_can_be_changed() -> None:
    shop = Shop()
    await shop.say("hello")
    newest = (await shop.shown())[-1]["id"]
    await shop.say(messages=users("changed"), **sign(newest))
    assert texts_of(await shop.shown()) == ["changed"]


async def test_calls_that_are_taken_back_are_told_to_the_model_with_the_message_that_does() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    await shop.pay("Ann", both)
    newest = (await shop.shown())[-1]["id"]
    await shop.say(messages=[*both, *users("other")], **sign(newest))

    heard = [m for m in shop.scripted.runs[-1].raw_messages if m["role"] == "user"]
    assert 'pay({"to":"Ann"}): paid Ann' in heard[-1]["content"]
    assert heard[-1]["content"] == shop.scripted.runs[-1].raw_new_messages[0]["content"]
    assert shop.heard[-1] == "other"
    assert texts_of(await shop.shown()) == ["hello", "other"]
    # Taken back itself, it hands on what it told.
    now = await shop.shown()
    await shop.say(messages=[*both, *users("third")], **sign(now[-1]["id"]))
    heard = [m for m in shop.scripted.runs[-1].raw_messages if m["role"] == "user"]
    assert 'pay({"to":"Ann"}): paid Ann' in heard[-1]["content"]


async def test_what_somebody_else_said_is_taken_back_with_the_sign_alone() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    await shop.say(messages=[*both, *users("of bob")], actor="bob")

    events = await shop.say(messages=[*both, *users("of ann")])
    assert kept_reason(events) == "others"
    assert texts_of(await shop.shown()) == ["hello", "of bob", "of ann"]
    newest = (await shop.shown())[-1]["id"]
    await shop.say(messages=[*both, *users("again")], **sign(newest))
    assert texts_of(await shop.shown()) == ["hello", "again"]


async def test_who_wrote_a_message_cannot_be_claimed() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    forged = {"agui_bridge": {"actor": "ann", "takenBack": [], "readOnly": ["c"]}, "mine": 1}
    said = [{**users("of bob")[0], "metadata": forged}]
    await shop.say(messages=[*both, *said], actor="bob")
    stored = (await shop.shown())[2]
    assert stored["metadata"] == {"mine": 1, "agui_bridge": {"actor": "bob"}}


@pytest.mark.parametrize("declared", [True, False])
async def test_a_pages_own_tool_that_only_looks_is_taken_back_as_text(declared: bool) -> None:
    bench = Bench(Scripted([*call_events("c1", "show"), Handoff(["c1"])], ["fine"], ["again"]))
    tool: dict[str, Any] = {"name": "show", "description": "Shows.", "parameters": {}}
    if declared:
        tool["metadata"] = {"agui_bridge": {"readOnly": True}}
    await bench.say("go", tools=[tool])
    shown = [{"id": "r", "role": "tool", "toolCallId": "c1", "content": "seen"}]
    await bench.say(messages=shown, tools=[tool])
    events = await bench.say("go", tools=[tool])
    assert kept_reason(events) == (None if declared else "calls")
    assert [c for _, c in await bench.texts()][-1] == ("again" if declared else "fine")


async def test_a_message_that_was_taken_back_never_comes_in_again() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    await shop.say(messages=[*both, *users("second")])
    old = await shop.shown()
    await shop.say(messages=[*both, *users("edited")])

    # By its id, and by its words from a client that gives new ids.
    renamed = [{**m, "id": f"x-{m['id']}"} if m["role"] == "user" else m for m in old]
    for number, list_ in enumerate((old, renamed)):
        events = await shop.say(messages=[*list_, *users(f"more {number}")])
        assert kept_reason(events) in ("superseded", None)
    assert texts_of(await shop.shown()) == ["hello", "edited", "more 0", "more 1"]


async def test_a_client_without_ids_says_nothing_again_whose_answer_was_made_anew() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    await shop.say(messages=[*both, *users("log x")])
    old = await shop.shown()
    await shop.say(messages=old[:3], **sign(old[-1]["id"]))
    assert shop.done == ["log x", "log x"]

    renamed = [{**m, "id": f"x-{m['id']}"} if m["role"] == "user" else m for m in old]
    await shop.say(messages=[*renamed, *users("more")])
    assert texts_of(await shop.shown()) == ["hello", "log x", "did log x", "more"]


@pytest.mark.parametrize("where", [(), ("runConfig",), ("runConfig", "custom")])
async def test_the_sign_is_read_where_clients_can_put_it(where: tuple[str, ...]) -> None:
    shop = Shop(going_back="signed")
    await shop.say("hello")
    props: dict[str, Any] = {"agui_bridge": {"newest": (await shop.shown())[-1]["id"]}}
    for name in reversed(where):
        props = {name: props}
    events = await shop.say(messages=(await shop.shown())[:1], forwardedProps=props)
    assert kept_reason(events) is None
    assert shop.heard == ["hello", "hello"]


def test_a_sign_that_is_no_text_is_refused() -> None:
    shop = Shop()
    with pytest.raises(Refused, match=r"forwardedProps\.agui_bridge\.newest"):
        shop.call("hello", forwardedProps={"agui_bridge": {"newest": 5}})


async def test_a_page_that_is_behind_is_shown_the_thread_first_and_last() -> None:
    shop = Shop()
    await shop.say("hello")
    both = await shop.shown()
    level = await shop.say(messages=[*both, *users("second")])
    assert "MESSAGES_SNAPSHOT" not in [e["type"] for e in level]
    only_new = await shop.say("third")
    assert "MESSAGES_SNAPSHOT" not in [e["type"] for e in only_new]

    for sent in (
        [both[0], {**both[1], "content": "else"}, *users("changed")],
        [*both[1:], *users("a gap")],
    ):
        kinds = [e["type"] for e in await shop.say(messages=sent)]
        assert kinds.index("MESSAGES_SNAPSHOT") < kinds.index("TEXT_MESSAGE_START")
        assert kinds[-2] == "MESSAGES_SNAPSHOT"
        assert outcome(await shop.say(messages=await shop.shown())) == "success"


async def test_what_a_page_lacks_is_told_first_up_to_the_last_thing_that_a_person_said() -> None:
    shop = Shop()
    await shop.say("hello")
    page = await shop.shown()
    await shop.say("log it")
    thread = await shop.shown()

    behind = await shop.say(messages=[*page, *users("third")])
    first, second = [e["messages"] for e in behind if e["type"] == "MESSAGES_SNAPSHOT"][:2]
    assert first == thread[:3]
    assert second == [*thread, second[-1]]

    begun, *rest = await shop.shown()
    lacks_nothing = await shop.say(messages=[{**begun, "content": "else"}, *rest, *users("fourth")])
    first, *_ = [e["messages"] for e in lacks_nothing if e["type"] == "MESSAGES_SNAPSHOT"]
    assert texts_of(first)[-1] == "fourth"


async def test_a_page_whose_messages_stand_in_another_order_has_the_threads_again() -> None:
    shop = Shop()
    for text in ("one", "two", "three"):
        await shop.say(text)
    thread = await shop.shown()
    # The answer to its message was cut off, and another page's came before.
    cut = Conversation([*thread[:2], thread[4]])
    cut.add(users("four")[0])
    for event in await shop.say(messages=cut.messages):
        cut.apply(event)
    assert [m["id"] for m in cut.messages] == [m["id"] for m in await shop.shown()]
    # So what it says next is no page's that is behind, and it can go back.
    events = await shop.say(
        messages=[*cut.messages[:4], *users("other")], **sign(cut.messages[-1]["id"])
    )
    assert kept_reason(events) is None
    assert texts_of(await shop.shown()) == ["one", "two", "other"]


async def test_a_page_that_has_results_in_the_order_of_their_calls_is_not_behind() -> None:
    both = [*call_events("c1"), *call_events("c2"), result("c2"), result("c1"), "Done."]
    bench = Bench(Scripted(both, ["fine"]))
    await bench.say("look twice")
    asked, calls, *results, said = [m.message for m in (await bench.load()).messages]
    assert [m["toolCallId"] for m in results] == ["c2", "c1"]

    told = await bench.say(messages=[asked, calls, *reversed(results), said, *users("hello")])
    assert "MESSAGES_SNAPSHOT" not in [e["type"] for e in told]
