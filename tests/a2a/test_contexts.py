"""Tasks that share a context, and requests that mix them up or look at too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agui_bridge.a2a.tasks import Tasks
from agui_bridge.engine.waiting import wait_until
from tests.a2a.asking import Client, Refused, answer, said, state
from tests.support.effects import Effects
from tests.support.waiting import PATIENCE, eventually

Talk = Callable[[str], Client]


class Late:
    """Lets something happen behind a step of the server's, as it may with several replicas.

    Args:
        step: what the server does.
        then: what happens behind it, once.
    """

    def __init__(self, step: Callable[..., Any], then: Callable[[], Any]) -> None:
        self._step = step
        self._then: Callable[[], Any] | None = then

    async def __call__(self, *args: Any, **options: Any) -> Any:
        found = await self._step(*args, **options)
        if (then := self._then) is not None:
            self._then = None
            await then()
        return found


async def test_whoever_subscribes_hears_nothing_of_the_task_behind_it(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = talk("all")
    task = await every.say("order", contextId="c")
    heard: list[Any] = []

    async def behind() -> None:
        at_once = {"configuration": {"returnImmediately": True}}
        other = await every.say("slow", "m2", contextId="c", **at_once)
        await eventually(lambda: _has_said(every, other))

    monkeypatch.setattr("agui_bridge.a2a.tasks.wait_until", Late(wait_until, behind))

    async def follow() -> None:
        async for event in every.events("SubscribeToTask", id=task["id"]):
            heard.append(event)

    following = asyncio.ensure_future(follow())
    await eventually(lambda: heard)
    await every.call("CancelTask", id=task["id"])
    await asyncio.wait_for(following, PATIENCE)
    assert [*map(min, heard)] == ["task", "statusUpdate"]
    assert heard[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"
    (newest,) = (await every.call("ListTasks"))["tasks"]
    await every.call("CancelTask", id=newest["id"])


async def _has_said(client: Client, task: Any) -> bool:
    return bool(said(await client.call("GetTask", id=task["id"])))


async def test_what_is_cancelled_is_never_the_task_behind_it(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = talk("all")
    task = await every.say("order", contextId="c")
    begun: list[Any] = []
    looks = Tasks.task

    async def behind() -> None:
        monkeypatch.setattr(Tasks, "task", looks)
        await every.answer(task, {"size": "M"})
        at_once = {"configuration": {"returnImmediately": True}}
        begun.append(await every.say("slow", "m2", contextId="c", **at_once))

    late = Late(looks, behind)
    monkeypatch.setattr(Tasks, "task", lambda *args, **options: late(*args, **options))
    with pytest.raises(Refused) as refused:
        await every.call("CancelTask", id=task["id"])
    assert refused.value.reason == "TASK_NOT_CANCELABLE"
    assert state(await every.call("GetTask", id=begun[0]["id"])) == "WORKING"
    await every.call("CancelTask", id=begun[0]["id"])


async def test_a_task_that_has_ended_takes_no_more_words(talk: Talk, effects: Effects) -> None:
    ops = talk("ops")
    task = await ops.say("users")
    no = answer(task, {"approved": False})
    parts = [*no["message"]["parts"], {"text": "and keep them all"}]
    first = await ops.say(parts, "a1", taskId=task["id"])
    ended = first
    while state(ended) != "COMPLETED":
        ended = await ops.answer(ended, {"approved": False}, id="a2")
    # The same once more is told as what it came to.
    assert await ops.say(parts, "a1", taskId=task["id"]) == ended
    for more in (parts, [{"data": {"resume": []}}, {"text": "users"}]):
        with pytest.raises(Refused, match="has ended"):
            await ops.say(more, "a9", taskId=task["id"])
    assert await ops.call("GetTask", id=task["id"]) == ended
    assert effects.counted == {}


@pytest.mark.parametrize(
    ("id", "context", "field"),
    [
        ("m1", ".", "message.contextId"),
        ("m1", "..", "message.contextId"),
        ("m1", "a/stop", "message.contextId"),
        ("a2a-answer:m1", "c", "message.messageId"),
    ],
)
async def test_ids_by_which_nothing_could_be_found_are_refused(
    talk: Talk, id: str, context: str, field: str
) -> None:
    echo = talk("echo")
    with pytest.raises(Refused, match=field) as refused:
        await echo.say("hello", id, contextId=context)
    assert refused.value.code == "INVALID_INPUT"
    assert (await echo.call("ListTasks"))["tasks"] == []


async def test_another_message_of_the_same_id_is_refused_and_the_same_is_not(talk: Talk) -> None:
    echo = talk("echo")
    file = {"raw": "YWJj", "mediaType": "image/png", "filename": "a.png"}
    link = {"url": "https://example.com/a", "mediaType": "application/pdf"}
    for number, words in enumerate(("one", [{"text": "look"}, file, link, {"data": {"n": 1.5}}])):
        context, id = f"c{number}", f"m{number}"
        first = await echo.say(words, id, contextId=context)
        assert await echo.say(words, id, contextId=context) == first
        with pytest.raises(Refused, match="another message of this context"):
            await echo.say("two", id, contextId=context)
        assert await echo.call("GetTask", id=first["id"]) == first


async def test_an_answer_names_the_task_that_asks(talk: Talk, effects: Effects) -> None:
    every = talk("all")
    ended = await every.say("hello", contextId="c")
    asking = await every.say("order", "m2", contextId="c")
    given = answer(asking, {"size": "M"})["message"]["parts"]
    with pytest.raises(Refused, match="taskId"):
        await every.say(given, "a1", taskId=ended["id"])
    assert await every.call("GetTask", id=asking["id"]) == asking
    assert state(await every.say(given, "a1", taskId=asking["id"])) == "COMPLETED"
    assert effects.counted == {"ordered M": 1}


async def test_answers_that_contradict_each_other_are_refused(talk: Talk, effects: Effects) -> None:
    ops = talk("ops")
    task = await ops.say("users")
    parts = [answer(task, {"approved": yes})["message"]["parts"][0] for yes in (True, False)]
    with pytest.raises(Refused, match="in one part"):
        await ops.say(parts, "a1", taskId=task["id"])
    assert await ops.call("GetTask", id=task["id"]) == task
    assert effects.counted == {}


async def test_a_page_looks_at_so_many_contexts_and_says_where_to_go_on(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_bridge.a2a.operations._MOST_LOOKED_AT", 2)
    echo = talk("echo")
    for number in range(5):
        await echo.say("break" if number else "refuse", f"m{number}")
    pages = [await echo.call("ListTasks", status="TASK_STATE_REJECTED")]
    while token := pages[-1]["nextPageToken"]:
        again = {"status": "TASK_STATE_REJECTED", "pageToken": token}
        pages.append(await echo.call("ListTasks", **again))
    assert [len(page["tasks"]) for page in pages] == [0, 0, 1]
