"""Tasks over either binding: what they tell, ask and come to, and what becomes of answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.a2a.wire import INTERRUPTS
from tests.a2a.asking import Client, Refused, answer, asked, message, said, state
from tests.support.effects import Effects
from tests.support.waiting import eventually

Talk = Callable[[str], Client]
YES = {"approved": True}


async def test_a_message_begins_a_task_and_the_next_one_another_in_its_context(talk: Talk) -> None:
    echo = talk("echo")
    task = await echo.say("hello")
    assert (state(task), said(task)) == ("COMPLETED", "You said hello.")
    (heard,) = task["history"]
    assert (heard["messageId"], heard["role"]) == ("m1", "ROLE_USER")
    assert heard["parts"] == [{"text": "hello"}]
    other = await echo.say("again", "m2", contextId=task["contextId"])
    assert other["contextId"] == task["contextId"] and other["id"] != task["id"]
    assert said(other) == "You said again."
    # The first one is as it was.
    assert await echo.call("GetTask", id=task["id"]) == task
    assert "history" not in await echo.call("GetTask", id=task["id"], historyLength=0)


async def test_a_message_that_comes_again_begins_nothing_again(
    talk: Talk, effects: Effects
) -> None:
    ops = talk("ops")
    first = await ops.say("users", contextId="c1")
    assert await ops.say("users", contextId="c1") == first
    done = await ops.answer(first, YES)
    assert await ops.say("users", contextId="c1") == done
    assert effects.counted == {"deleted users": 1}


async def test_a_pause_tells_all_that_it_asks_and_the_answer_is_carried_out_once(
    talk: Talk, effects: Effects
) -> None:
    ops = talk("ops")
    task = await ops.say("users")
    assert (state(task), said(task)) == ("INPUT_REQUIRED", "I will delete. ")
    told = task["status"]["message"]
    assert told["extensions"] == [INTERRUPTS]
    assert 'delete_rows\n{\n  "table": "users"\n}' in told["parts"][0]["text"]
    (ask,) = asked(task)
    assert ask["toolCall"]["args"] == {"table": "users"}
    assert ask["responseSchema"]["required"] == ["approved"]
    assert await ops.call("GetTask", id=task["id"]) == task
    done = await ops.answer(task, YES)
    assert state(done) == "COMPLETED" and said(done).endswith("rows of users deleted")
    # The same answer is told the same, another one is refused.
    assert await ops.answer(task, YES) == done
    with pytest.raises(Refused, match="Another answer was given") as refused:
        await ops.answer(task, {"approved": False})
    assert refused.value.code == "INTERRUPT_ALREADY_ANSWERED"
    assert await ops.call("GetTask", id=task["id"]) == done
    assert effects.counted == {"deleted users": 1}


@pytest.mark.parametrize(
    ("payload", "told", "done"),
    [
        ({"approved": False, "reason": "too many"}, "Kept: too many.", {}),
        ({"approved": True, "editedArgs": {"table": "old"}}, "rows of old deleted", {"old": 1}),
        (None, "Kept: refused.", {}),
    ],
)
async def test_people_refuse_change_and_cancel_calls(
    talk: Talk, effects: Effects, payload: Any, told: str, done: dict[str, int]
) -> None:
    ops = talk("ops")
    task = await ops.answer(await ops.say("users"), payload)
    assert state(task) == "COMPLETED" and told in said(task)
    assert effects.counted == {f"deleted {table}": n for table, n in done.items()}


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"approved": "yes"}, "INVALID_RESUME_PAYLOAD"),
        ({"approved": True, "editedArgs": {"table": 7}}, "INVALID_RESUME_PAYLOAD"),
        ({}, "INVALID_RESUME_PAYLOAD"),
    ],
)
async def test_an_answer_that_does_not_fit_changes_nothing(
    talk: Talk, effects: Effects, payload: Any, code: str
) -> None:
    ops = talk("ops")
    task = await ops.say("users")
    with pytest.raises(Refused) as refused:
        await ops.answer(task, payload)
    assert (refused.value.reason, refused.value.code) == ("INVALID_PARAMS", code)
    with pytest.raises(Refused):
        await ops.stream("SendStreamingMessage", **answer(task, payload))
    assert await ops.call("GetTask", id=task["id"]) == task
    assert effects.counted == {}


async def test_numbers_are_what_was_meant_by_clients_to_which_all_are_doubles(
    talk: Talk, effects: Effects
) -> None:
    count = talk("count")
    task = await count.say("go")
    for rounded in (2.0**53, 2**60):
        with pytest.raises(Refused, match="round") as refused:
            await count.answer(task, rounded)
        assert refused.value.code == "INVALID_RESUME_PAYLOAD"
    assert state(await count.answer(task, 3.0)) == "COMPLETED"
    assert effects.counted == {"3": 1}


async def test_what_certain_people_decide_others_do_not(talk: Talk, effects: Effects) -> None:
    ops = talk("ops")
    task = await ops.say("salaries")
    with pytest.raises(Refused) as refused:
        await ops.answer(task, YES)
    assert refused.value.code == "NOT_AN_APPROVER"
    assert state(await ops.call("GetTask", id=task["id"])) == "INPUT_REQUIRED"
    assert effects.counted == {}


async def test_words_answer_where_that_is_on_and_never_let_a_tool_run(
    talk: Talk, bridge: Bridge, effects: Effects
) -> None:
    shop, ops = talk("shop"), talk("ops")
    task = await shop.say("a shirt")
    with pytest.raises(Refused) as refused:
        await shop.say("M", "m2", taskId=task["id"])
    assert refused.value.reason == "UNSUPPORTED_OPERATION"
    assert refused.value.code == "INTERRUPT_PENDING"
    for name in ("shop", "ops"):
        agent = bridge.agents[name]
        bridge.agents[name] = _with_words(agent)
    task = await shop.say("a shirt", "m3")
    again = await shop.say("purple", "m4", taskId=task["id"])
    assert state(again) == "INPUT_REQUIRED"
    assert "not understood" in again["status"]["message"]["parts"][0]["text"]
    with pytest.raises(Refused, match="with its taskId"):
        await shop.say("M", "m5", contextId=task["contextId"])
    done = await shop.say("M", "m6", taskId=task["id"])
    assert state(done) == "COMPLETED" and "Ordered M." in said(done)
    call = await ops.say("users", "m7")
    still = await ops.say("yes", "m8", taskId=call["id"])
    assert state(still) == "INPUT_REQUIRED"
    assert "explicitly" in still["status"]["message"]["parts"][0]["text"]
    assert effects.counted == {"ordered M": 1}


def _with_words(agent: Any) -> Any:
    return replace(agent, settings=replace(agent.settings, auto_resume="on"))


@pytest.mark.parametrize(
    ("agent", "text", "wanted", "words"),
    [
        ("echo", "break", "FAILED", "AGENT_ERROR"),
        ("echo", "refuse", "REJECTED", "Not on a Friday."),
    ],
)
async def test_an_end_that_is_no_success_is_told_as_what_it_is(
    talk: Talk, agent: str, text: str, wanted: str, words: str
) -> None:
    task = await talk(agent).say(text)
    assert state(task) == wanted
    told = task["status"]["message"]["parts"][0]["text"]
    assert words in told and "secret" not in told
    assert state(await talk(agent).call("GetTask", id=task["id"])) == wanted


async def test_how_a_task_ended_stays_so_when_its_context_has_gone_on(talk: Talk) -> None:
    answers = {"size": "M"}
    shop, fragile, brief = talk("shop"), talk("fragile"), talk("brief")
    done = await shop.answer(await shop.say("a", contextId="c"), answers)
    stopped = await shop.say("b", "m2", contextId="c")
    await shop.call("CancelTask", id=stopped["id"])
    asking = await shop.say("c", "m3", contextId="c")
    failed = await fragile.answer(await fragile.say("d", contextId="c"), answers)
    late = await brief.say("e", contextId="c")
    await asyncio.sleep(0.3)
    await fragile.say("f", "m4", contextId="c")
    await brief.say("g", "m5", contextId="c")
    for client, task, wanted in (
        (shop, done, "COMPLETED"),
        (shop, stopped, "CANCELED"),
        (shop, asking, "INPUT_REQUIRED"),
        (fragile, failed, "FAILED"),
        (brief, late, "CANCELED"),
    ):
        assert state(await client.call("GetTask", id=task["id"])) == wanted
    assert [part for each in done["artifacts"] for part in each["parts"]] == [
        {"text": "Ordered M."},
        {"data": {"size": "M"}},
    ]


async def test_a_task_that_waits_or_works_is_cancelled_and_one_that_has_ended_is_not(
    talk: Talk, effects: Effects
) -> None:
    ops, steps = talk("ops"), talk("steps")
    task = await ops.say("users")
    assert state(await ops.call("CancelTask", id=task["id"])) == "CANCELED"
    with pytest.raises(Refused) as refused:
        await ops.answer(task, YES)
    assert refused.value.reason == "UNSUPPORTED_OPERATION"
    with pytest.raises(Refused) as refused:
        await ops.call("CancelTask", id=task["id"])
    assert refused.value.reason == "TASK_NOT_CANCELABLE"
    working = await steps.say("go", configuration={"returnImmediately": True})
    assert state(working) == "WORKING"
    await eventually(lambda: effects.counted)
    with pytest.raises(Refused, match="at work"):
        await steps.say("and", "m2", taskId=working["id"])
    ended = await steps.call("CancelTask", id=working["id"])
    assert state(ended) == "CANCELED" and said(ended).startswith("tick ")
    assert effects.counted == {"began": 1}


async def test_a_stream_tells_the_task_then_what_is_said_then_where_it_stands(talk: Talk) -> None:
    ops = talk("ops")
    events = await ops.stream("SendStreamingMessage", **message("users"))
    task = events[0]["task"]
    assert _kinds(events) == ["task", "artifactUpdate", "statusUpdate"]
    assert events[1]["artifactUpdate"]["artifact"]["parts"] == [{"text": "I will delete. "}]
    told = await ops.call("GetTask", id=task["id"])
    assert events[-1]["statusUpdate"]["status"] == told["status"]
    events = await ops.stream("SendStreamingMessage", **answer(told, YES))
    assert _text(events) == "I will delete. rows of users deleted"
    # On a busy machine it has ended by the time that the first one is told.
    last = events[-1].get("statusUpdate") or events[-1]["task"]
    assert last["status"]["state"] == "TASK_STATE_COMPLETED"
    # Sent again it is told as one whole.
    again = await ops.stream("SendStreamingMessage", **answer(told, YES))
    assert _kinds(again) == ["task"] and _text(again) == _text(events)


async def test_whoever_subscribes_hears_all_of_it_and_leaving_stops_nothing(
    talk: Talk, effects: Effects, tmp_path: Any
) -> None:
    steps = talk("steps")
    heard: list[Any] = []
    async for event in steps.events("SendStreamingMessage", **message("go")):
        heard.append(event)
        if len(heard) > 3:
            break
    id = heard[0]["task"]["id"]
    events: list[Any] = []

    async def follow() -> None:
        async for event in steps.events("SubscribeToTask", id=id):
            events.append(event)

    following = asyncio.ensure_future(follow())
    await eventually(lambda: events)
    (tmp_path / "go").touch()
    await following
    done = await steps.call("GetTask", id=id)
    assert (state(done), effects.counted) == ("COMPLETED", {"began": 1})
    assert _text(events) == said(done) and said(done).endswith("done")
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    with pytest.raises(Refused) as refused:
        await steps.stream("SubscribeToTask", id=id)
    assert refused.value.reason == "UNSUPPORTED_OPERATION"


async def test_whoever_subscribes_to_a_question_hears_what_somebody_else_answers(
    talk: Talk,
) -> None:
    ops = talk("ops")
    task = await ops.say("users")
    heard: list[Any] = []

    async def follow() -> None:
        async for event in ops.events("SubscribeToTask", id=task["id"]):
            heard.append(event)

    following = asyncio.ensure_future(follow())
    await eventually(lambda: heard)
    assert heard == [{"task": task}]
    done = await ops.answer(task, YES)
    await following
    assert _text(heard) == said(done)
    assert heard[-1]["statusUpdate"]["status"] == done["status"]


async def test_a_run_that_sleeps_is_at_work(talk: Talk) -> None:
    task = await talk("nap").say("rest")
    assert (
        state(task) == "WORKING" and "sleeps until" in task["status"]["message"]["parts"][0]["text"]
    )


async def test_lists_are_of_contexts_or_of_one_and_go_on_page_by_page(talk: Talk) -> None:
    echo, shop = talk("echo"), talk("shop")
    for number in range(3):
        for context in ("c1", "c2"):
            await echo.say(f"hi {number}", f"{context}-{number}", contextId=context)
    listed = await echo.call("ListTasks")
    assert [each["contextId"] for each in listed["tasks"]] == ["c2", "c1"]
    assert (listed["totalSize"], listed["nextPageToken"]) == (2, "")
    assert not any({"artifacts", "history"} & each.keys() for each in listed["tasks"])
    seen = []
    token: dict[str, Any] = {}
    while True:
        page = await echo.call("ListTasks", contextId="c1", pageSize=2, **token)
        seen += page["tasks"]
        if not page["nextPageToken"]:
            break
        token = {"pageToken": page["nextPageToken"]}
    assert [each["id"] for each in seen] == [
        (await echo.say(f"hi {n}", f"c1-{n}", contextId="c1"))["id"] for n in (2, 1, 0)
    ]
    first = await echo.call("ListTasks", pageSize=1, includeArtifacts=True, historyLength=1)
    second = await echo.call("ListTasks", pageSize=1, pageToken=first["nextPageToken"])
    assert said(first["tasks"][0]) == "You said hi 2."
    assert [each["contextId"] for each in (first["tasks"] + second["tasks"])] == ["c2", "c1"]
    waiting = await shop.say("a shirt")
    for wanted, found in (("INPUT_REQUIRED", [waiting["id"]]), ("COMPLETED", [])):
        page = await shop.call("ListTasks", status=f"TASK_STATE_{wanted}")
        assert [each["id"] for each in page["tasks"]] == found
    assert not (await echo.call("ListTasks", statusTimestampAfter="2999-01-01T00:00:00Z"))["tasks"]


async def test_files_and_data_reach_the_agent(talk: Talk) -> None:
    task = await talk("echo").say(
        [
            {"text": "look "},
            {"raw": "YWJj", "mediaType": "image/png", "filename": "a.png"},
            {"url": "https://example.com/a.pdf", "mediaType": "application/pdf"},
            {"data": {"rows": 3}},
        ]
    )
    assert said(task) == 'You said look {"rows": 3} [text] [image] [document] [text].'
    parts = task["history"][0]["parts"]
    assert parts[1] == {"raw": "YWJj", "mediaType": "image/png", "filename": "a.png"}


NOTHING = {"messageId": "m", "role": "ROLE_USER"}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "message: must be an object"),
        ({"message": {**NOTHING, "parts": []}}, "message.parts"),
        ({"message": {**NOTHING, "parts": ["x"]}}, r"message.parts\[0\]: must be an object"),
        ({"message": {**NOTHING, "parts": [{}]}}, "must have one of"),
        ({"message": {**NOTHING, "parts": [{"text": 1}]}}, r"parts\[0\].text: must be a text"),
        ({"message": {**NOTHING, "parts": [{"raw": "§"}]}}, "base64"),
        ({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}}, "messageId: is missing"),
        ({"message": {"messageId": "m", "parts": [{"text": "x"}]}}, "message.role"),
        (message("x" * 10, "m" * 2000), "message.messageId"),
        (message("x", contextId="c" * 2000), "message.contextId"),
        (message([{"data": {"resume": []}}]), "message.taskId: is missing"),
        ({**message("x"), "configuration": {"historyLength": -1}}, "historyLength"),
        ({**message("x"), "configuration": {"returnImmediately": "soon"}}, "returnImmediately"),
    ],
)
async def test_what_is_no_message_says_where(talk: Talk, params: dict[str, Any], said: str) -> None:
    echo = talk("echo")
    with pytest.raises(Refused, match=said) as refused:
        await echo.call("SendMessage", **params)
    assert refused.value.reason == "INVALID_PARAMS"
    assert (await echo.call("ListTasks"))["totalSize"] == 0


@pytest.mark.parametrize("resume", ["yes", [1], [{}], [{"interruptId": 1}], {"a": 1}])
async def test_answers_of_a_wrong_shape_are_refused(talk: Talk, resume: Any) -> None:
    shop = talk("shop")
    task = await shop.say("a shirt")
    with pytest.raises(Refused) as refused:
        await shop.say([{"data": {"resume": resume}}], "m2", taskId=task["id"])
    assert refused.value.reason == "INVALID_PARAMS"
    assert await shop.call("GetTask", id=task["id"]) == task


async def test_what_there_is_not_is_not_found(talk: Talk) -> None:
    echo = talk("echo")
    task = await echo.say("hello")
    other = await talk("shop").say("hello")
    for id in ("nothing", task["id"][:-3], other["id"], "WyJhIiwiYiJd", "W10"):
        for method in ("GetTask", "CancelTask"):
            with pytest.raises(Refused) as refused:
                await echo.call(method, id=id)
            assert refused.value.reason == "TASK_NOT_FOUND"
        with pytest.raises(Refused) as refused:
            await echo.say("x", "m2", taskId=id)
        assert refused.value.reason == "TASK_NOT_FOUND"
    with pytest.raises(Refused, match="not that of the task"):
        await echo.say("x", "m2", taskId=task["id"], contextId="another")
    with pytest.raises(Refused, match="has ended"):
        await echo.say("x", "m2", taskId=task["id"])
    for wrong in ({"pageSize": 0}, {"status": "DONE"}, {"pageToken": "x"}):
        with pytest.raises(Refused) as refused:
            await echo.call("ListTasks", **wrong)
        assert refused.value.reason == "INVALID_PARAMS"
    with pytest.raises(Refused) as refused:
        await echo.call("CreateTaskPushNotificationConfig", id=task["id"], url="https://x.example")
    assert refused.value.reason == "PUSH_NOTIFICATION_NOT_SUPPORTED"


def _kinds(events: list[Any]) -> list[str]:
    return [kind for event in events for kind in event]


def _text(events: list[Any]) -> str:
    """The text of all artifacts, as a client puts updates together."""
    texts = {
        each["artifactId"]: said({"artifacts": [each]})
        for each in events[0]["task"].get("artifacts", ())
    }
    for event in events[1:]:
        if (update := event.get("artifactUpdate")) is not None:
            name, new = update["artifact"]["artifactId"], said({"artifacts": [update["artifact"]]})
            texts[name] = texts[name] + new if update.get("append") else new
    return "".join(texts.values())
