"""Approvals, edits, stops and policies, of an agent's own tools."""

from __future__ import annotations

from typing import Any

import pytest
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, BeforeToolsEvent
from strands.tools.executors import ConcurrentToolExecutor, SequentialToolExecutor

from agui_bridge import ProposedCall, Verdict
from agui_bridge.testing import Talk, talk
from tests.adapters.mails import YES, EditableMails, StatelessMails
from tests.adapters.strands.mailer import SIGNATURE, Mailer
from tests.adapters.strands.talking import BRIDGES, serving, talking

pytestmark = pytest.mark.anyio

DECLINED = "The user declined this tool call; it was not executed. Reason: not him"


class TestMails(StatelessMails, EditableMails):
    bridges = BRIDGES
    signature = SIGNATURE

    @pytest.fixture
    def mailer(self) -> Mailer:
        return Mailer()


# --- approvals ---


@pytest.mark.parametrize("gated", [True, False])
async def test_the_model_reads_its_call_as_it_was_edited(gated: bool) -> None:
    mailer = Mailer() if gated else Mailer(gated=())
    async with talking(mailer, approve=() if gated else ["send_email"]) as one:
        asked = await one.say("send bob")
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
        assert "original" not in mailer.told()
        await one.say("hello")
    assert mailer.done == [{"to": "ann", "body": "edited"}]
    assert "original" not in mailer.told()


async def test_a_text_stands_in_place_of_the_result_and_the_tool_does_not_run() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        answered = await one.answer(asked, {"approved": False, "respond": "I phoned him."})
    assert (answered.ending, mailer.done) == ("success", [])
    told = [e["content"] for e in answered.events if e["type"] == "TOOL_CALL_RESULT"]
    assert told == mailer.results("send_email") == ["I phoned him."]


def trying_again(until: int) -> Mailer:
    """A mailer with a hook that has the tool tried until so many mails are sent."""
    mailer = Mailer()

    def again(event: AfterToolCallEvent) -> None:
        event.retry = event.tool_use["name"] == "send_email" and 0 < len(mailer.done) < until

    mailer.agent.hooks.add_callback(AfterToolCallEvent, again)
    mailer.helper.hooks.add_callback(AfterToolCallEvent, again)
    return mailer


async def results_in(one: Talk) -> list[str]:
    """What the thread has as the results of calls."""
    return [m["content"] for m in await one.messages() if m["role"] == "tool"]


@pytest.mark.parametrize("word", ["send", "inside"])
async def test_a_try_that_people_decline_takes_nothing_from_the_one_that_ran(word: str) -> None:
    mailer = trying_again(until=3)
    async with talking(mailer) as one:
        first = await one.say(f"{word} bob")
        second = await one.answer(first, YES)
        assert len(mailer.done) == 1
        third = await one.answer(second, YES)
        assert len(mailer.done) == 2
        asked = [stream.asks[0]["toolCallId"] for stream in (first, second, third)]
        assert len({*asked}) == 3
        last = await one.answer(third, {"approved": False, "reason": "not him"})
        assert (last.ending, len(mailer.done)) == ("success", 2)
        told = [text for text in await results_in(one) if not text.startswith("Done")]
        sent = "sent to bob"
        assert sorted(told) == [DECLINED, sent, sent]
    tried = f"{sent}\n\nIt was to be tried again, and was not: {DECLINED}"
    assert tried in [text for request in mailer.requests for text in texts(request)]


def texts(messages: list[Any]) -> list[str]:
    """The texts of results that a model was told."""
    blocks = [block for message in messages for block in message["content"]]
    return [b["toolResult"]["content"][0]["text"] for b in blocks if "toolResult" in b]


async def test_a_stop_before_another_try_is_decided_says_what_ran() -> None:
    mailer = trying_again(until=2)
    async with talking(mailer) as one:
        await one.answer(await one.say("send bob"), YES)
        await one.stop()
        ran, asked = await results_in(one)
        assert (ran, "not executed" in asked) == ("sent to bob", True)
        await one.say("hello")
    assert len(mailer.done) == 1
    assert texts(mailer.requests[-1])[0] == "sent to bob"


async def test_a_try_that_the_policy_denies_takes_nothing_from_the_one_that_ran() -> None:
    mailer = trying_again(until=2)

    def policy(call: ProposedCall) -> Verdict:
        return Verdict("allow" if not mailer.done else "deny")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        await one.answer(await one.say("send bob"), YES)
        (told,) = await results_in(one)
    assert len(mailer.done) == 1
    assert told.startswith("sent to bob\n\nIt was to be tried again, and was not: The policy")
    assert mailer.results("send_email") == [told]


async def test_edits_that_the_tool_would_drop_are_refused_before_anything_runs() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        edited = {"to": "ann", "body": "b", "bcc": "eve"}
        refused = await one.answer(asked, {**YES, "editedArgs": edited})
        assert ("'bcc' is not among" in refused.fault, mailer.done) == (True, [])
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "b"}})
    assert mailer.done == [{"to": "ann", "body": "b"}]


async def test_calls_that_a_stop_left_are_no_success_for_the_model() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("send bob")
        await one.stop()
        await one.say("hello")
    (result,) = [
        block["toolResult"]
        for message in mailer.requests[-1]
        for block in message["content"]
        if "toolResult" in block
    ]
    assert (result["status"], mailer.done) == ("error", [])


async def test_calls_that_a_model_gives_the_same_id_are_approved_one_by_one() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        first = await one.say("same bob")
        second = await one.answer(first, YES)
        assert first.asks[0]["toolCallId"] != second.asks[0]["toolCallId"]
        assert len(mailer.done) == 1
        await one.answer(second, {"approved": False, "reason": "not him"})
    assert [done["to"] for done in mailer.done] == ["bob-0"]
    assert mailer.results("send_email")[1] == DECLINED


async def test_nobody_is_asked_about_arguments_that_nobody_can_read() -> None:
    mailer = Mailer(gated=["look_up"])
    async with talking(mailer, approve=["look_up"]) as one:
        stream = await one.say("broken")
    told = [e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT"]
    assert mailer.done == []
    assert stream.ending != "success" or told == mailer.results("look_up")


async def test_a_call_of_a_tool_that_does_not_exist_is_told_and_the_run_goes_on() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = await one.say("unknown bob")
    (told,) = [e["content"] for e in stream.events if e["type"] == "TOOL_CALL_RESULT"]
    assert (stream.ending, told) == ("success", "Unknown tool: no_such_tool")


async def test_tools_one_after_the_other_are_asked_about_one_after_the_other() -> None:
    mailer = Mailer(tool_executor=SequentialToolExecutor())
    async with talking(mailer) as one:
        asked = await one.say("both bob")
        while asked.asks:
            asked = await one.answer(asked, *[YES for _ in asked.asks])
        assert asked.ending == "success"
    assert [done["to"] for done in mailer.done] == ["bob", "second-bob"]


# --- what hooks ask ---


@pytest.mark.parametrize("answer", ["y", "n"])
async def test_a_hook_of_ones_own_asks_and_judges_the_answer(answer: str) -> None:
    mailer = Mailer(gated=())

    def confirm(event: BeforeToolCallEvent) -> None:
        if event.interrupt("sure", reason={"question": "Sure?", "schema": {"type": "string"}}) != (
            "y"
        ):
            event.cancel_tool = "it was not sure"

    mailer.agent.hooks.add_callback(BeforeToolCallEvent, confirm)
    async with talking(mailer) as one:
        asked = await one.say("look bob")
        (ask,) = asked.asks
        assert (ask["reason"], ask["message"]) == ("strands:sure", "Sure?")
        assert (await one.answer(asked, answer)).ending == "success"
    assert mailer.done == (["looked up bob"] if answer == "y" else [])
    assert mailer.results("look_up") == ["bob is known" if answer == "y" else "it was not sure"]


async def test_what_a_hook_asks_and_nobody_answers_keeps_the_tool_from_running() -> None:
    mailer = Mailer(gated=())

    def confirm(event: BeforeToolCallEvent) -> None:
        event.interrupt("sure")

    mailer.agent.hooks.add_callback(BeforeToolCallEvent, confirm)
    async with talking(mailer) as one:
        asked = await one.say("look bob")
        cancelled = await one.cancel(asked)
        assert cancelled.ending == "success"
    assert mailer.done == []
    assert mailer.results("look_up") == ["The question was cancelled; nobody answered it."]


@pytest.mark.parametrize("is_answered", [True, False])
async def test_a_question_about_all_calls_at_once_that_nobody_answers_ends_the_run(
    is_answered: bool,
) -> None:
    mailer = Mailer(gated=())

    def confirm(event: BeforeToolsEvent) -> None:
        event.interrupt("all", reason="All of them?")

    mailer.agent.hooks.add_callback(BeforeToolsEvent, confirm)
    async with talking(mailer) as one:
        asked = await one.say("look bob")
        ended = await (one.answer(asked, "y") if is_answered else one.cancel(asked))
        assert ended.ending == "success"
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == (["looked up bob"] if is_answered else [])


@pytest.mark.parametrize("words", ["mixed bob", "mixedinside bob"])
async def test_one_answer_about_several_calls_lets_run_what_was_shown_and_policies_judge_each(
    words: str,
) -> None:
    mailer, judged = Mailer(gated=()), list[tuple[str, Any]]()

    def policy(call: ProposedCall) -> str:
        judged.append((call.name, dict(call.args)))
        return "deny" if call.name == "look_up" else "allow"

    def confirm(event: BeforeToolsEvent) -> None:
        event.interrupt("all", reason="All of them?")

    (mailer.helper if "inside" in words else mailer.agent).hooks.add_callback(
        BeforeToolsEvent, confirm
    )
    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say(words)
        (ask,) = asked.asks
        assert ask["metadata"]["calls"] == [
            {"toolName": "look_up", "args": {"name": "bob"}},
            {"toolName": "send_email", "args": {"to": "bob", "body": "original"}},
        ]
        assert (await one.answer(asked, "y")).ending == "success"
    judged = [call for call in judged if call[0] != "helper"]
    assert sorted(judged) == [
        ("look_up", {"name": "bob"}),
        ("send_email", {"to": "bob", "body": "original"}),
    ]
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_of_two_that_ask_about_one_call_one_that_refuses_is_enough() -> None:
    mailer = Mailer(gated=["look_up"])
    mailer.agent.hooks.add_callback(BeforeToolCallEvent, lambda event: event.interrupt("sure"))
    async with talking(mailer) as one:
        asked = await one.say("look bob")
        payloads = [
            {"approved": False, "reason": "not him"} if ask["reason"] == "tool_call" else "y"
            for ask in asked.asks
        ]
        assert len(payloads) == 2
        assert (await one.answer(asked, *payloads)).ending == "success"
    assert (mailer.done, mailer.results("look_up")) == ([], [DECLINED])


async def test_an_approval_with_edits_outlives_a_question_that_comes_after_it() -> None:
    mailer, seen = Mailer(gated=["look_up"]), list[bool]()

    def later(event: BeforeToolCallEvent) -> None:
        held: Any = event.agent._interrupt_state
        if any(one.response is not None for one in held.interrupts.values()):
            event.interrupt("later")

    def policy(call: ProposedCall) -> str:
        seen.append(call.approved)
        return "allow"

    mailer.agent.hooks.add_callback(BeforeToolCallEvent, later)
    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("look bob")
        asked = await one.answer(asked, {**YES, "editedArgs": {"name": "eve"}})
        assert (asked.asks[0]["reason"], mailer.done) == ("strands:later", [])
        assert (await one.answer(asked, "y")).ending == "success"
    assert (mailer.done, seen) == (["looked up eve"], [True])


async def test_an_answer_to_a_hook_is_no_approval_for_a_policy() -> None:
    mailer, seen = Mailer(gated=()), list[bool]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append(call.approved)
        return Verdict("ask", "Do it?")

    def which(event: BeforeToolCallEvent) -> None:
        event.interrupt("account")

    mailer.agent.hooks.add_callback(BeforeToolCallEvent, which)
    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.answer(await one.say("look bob"), "the first")
        assert (asked.asks[0]["message"], mailer.done) == ("Do it?", [])
        await one.answer(asked, YES)
    assert (seen, mailer.done) == ([False, True], ["looked up bob"])


async def test_a_policy_judges_the_tool_that_a_hook_chose() -> None:
    mailer = Mailer(gated=())

    def choose(event: BeforeToolCallEvent) -> None:
        event.selected_tool = event.agent.tool_registry.registry["send_email"]
        event.tool_use["input"] = {"to": "eve"}

    mailer.agent.hooks.add_callback(BeforeToolCallEvent, choose)
    bridge = serving(mailer)
    bridge.policy(lambda call: "deny" if call.name == "send_email" else "allow")
    async with talk(bridge, "mailer") as one:
        assert (await one.say("look bob")).ending == "success"
    assert mailer.done == []


# --- tools that are odd, or gone ---


@pytest.mark.parametrize(("say", "name"), [("send bob", "send_email"), ("inside bob", "helper")])
async def test_an_answer_can_be_given_again_once_the_tool_is_back(say: str, name: str) -> None:
    mailer = Mailer()
    tools = mailer.agent.tool_registry.registry
    async with talking(mailer) as one:
        asked = await one.say(say)
        gone = tools.pop(name)
        assert (await one.answer(asked, YES)).ending not in ("success", "interrupt")
        assert mailer.done == []
        tools[name] = gone
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_answers_can_be_given_again_once_the_policy_is_back() -> None:
    mailer, is_broken = Mailer(), True

    def policy(call: ProposedCall) -> str:
        if call.approved and is_broken:
            raise RuntimeError("no policy")
        return "allow"

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("both bob")
        assert (await one.answer(asked, YES, YES)).ending not in ("success", "interrupt")
        assert mailer.done == []
        is_broken = False
        assert (await one.answer(asked, YES, YES)).ending == "success"
    assert sorted(done["to"] for done in mailer.done) == ["bob", "second-bob"]


@pytest.mark.parametrize("executor", [SequentialToolExecutor, ConcurrentToolExecutor])
@pytest.mark.parametrize("say", ["sendunknown bob", "unknownsend bob"])
async def test_a_tool_that_does_not_exist_keeps_no_answer_from_its_neighbour(
    say: str, executor: Any
) -> None:
    mailer = Mailer(tool_executor=executor())
    async with talking(mailer) as one:
        assert (await one.answer(await one.say(say), YES)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]


# --- what tools ask ---


@pytest.mark.parametrize("answer", ["", 0, False, [], {"hour": 5}])
async def test_any_answer_reaches_the_tool_that_asked(answer: Any) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("book friday")
        assert (asked.asks[0]["reason"], asked.asks[0]["message"]) == (
            "strands:book",
            "When on friday?",
        )
        assert (await one.answer(asked, answer)).ending == "success"
    assert mailer.done == [answer]


async def test_null_is_no_answer_since_strands_would_ask_for_ever() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("book friday")
        refused = await one.answer(asked, None)
        assert refused.ending == "INVALID_RESUME_PAYLOAD"
        assert (await one.answer(asked, 5)).ending == "success"
    assert mailer.done == [5]


async def test_a_question_beside_an_approval_is_one_pause() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("booktwo bob")
        by_reason = {ask["reason"]: ask for ask in asked.asks}
        assert set(by_reason) == {"strands:book", "tool_call"}
        payloads = [YES if a["reason"] == "tool_call" else 7 for a in asked.asks]
        assert (await one.answer(asked, *payloads)).ending == "success"
    assert sorted(mailer.done, key=str) == [7, {"to": "bob", "body": "original"}]


async def test_who_approved_a_tool_that_then_asks_is_not_asked_again() -> None:
    mailer = Mailer(gated=["book"])
    async with talking(mailer) as one:
        asked = await one.answer(await one.say("book friday"), YES)
        assert (asked.asks[0]["reason"], mailer.done) == ("strands:book", [])
        assert (await one.answer(asked, 5)).ending == "success"
    assert mailer.done == [5]


async def test_an_answer_that_a_policy_could_not_judge_is_given_again_in_old_threads() -> None:
    mailer = Mailer()
    broken = False

    def policy(call: ProposedCall) -> Verdict:
        if broken:
            raise RuntimeError("no policy")
        return Verdict("allow")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        await one.say("look ann")
        asked = await one.say("send bob")
        broken = True
        assert (await one.answer(asked, YES)).ending != "success"
        broken = False
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == ["looked up ann", {"to": "bob", "body": "original"}]
