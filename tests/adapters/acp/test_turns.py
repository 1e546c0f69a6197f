"""Turns that end at a question, or wait there, and what comes of them once people have decided."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Principal
from tests.adapters.acp.bench import Bench, bridged
from tests.docs.pages import Conversation
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

YES = {"approved": True}
NO = {"approved": False, "reason": "not on a Friday"}
V2 = {"version": "v2.0"}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def results(talk: Conversation) -> dict[str, str]:
    """What the last run told of calls, by their ids."""
    return {e["toolCallId"]: e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"}


def code(talk: Conversation) -> str | None:
    """The code that the last run ended with, None where it failed not."""
    return talk.events[-1].get("code")


def shown(talk: Conversation) -> list[str]:
    """The calls that the last run showed."""
    return [e["toolCallName"] for e in talk.events if e["type"] == "TOOL_CALL_START"]


# --- what comes after a decision ---

AFTER: dict[str, tuple[str, Any, list[Any], list[str], str | None]] = {
    # prompt, payload: what was carried out, what is asked then, what the call is told as
    "the same call": ("deploy", YES, [V2], [], "deploy: done"),
    "another call": ("deploy other", YES, [], ["deploy"], "not executed"),
    "the same call twice": ("deploy again", YES, [V2], ["deploy"], "deploy: done"),
    "nothing": ("deploy nothing", YES, [], [], "not executed"),
    "a declined call again": ("deploy insists", NO, [], [], "not on a Friday"),
    "a declined call not": ("deploy nothing", NO, [], [], "not on a Friday"),
}


@pytest.mark.parametrize("killed", [False, True], ids=["kept", "killed"])
@pytest.mark.parametrize("case", AFTER)
async def test_a_decision_serves_one_call_that_is_the_same(
    bench: Bench, case: str, killed: bool
) -> None:
    prompt, payload, effects, asked, told = AFTER[case]
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say(prompt)
        (ask,) = talk.asks
        assert bench.effects == []
        if killed:
            await bench.kill_agents()
        await talk.answer(payload)
        assert bench.effects == effects
        assert told is not None
        assert told in results(talk)[ask["toolCallId"]]
        assert shown(talk) == asked
        assert [one["toolCallId"] != ask["toolCallId"] for one in talk.asks] == [True] * len(asked)


async def test_the_reason_of_a_decline_reaches_the_agent(bench: Bench) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("deploy")
        assert "not on a Friday" not in bench.heard
        await talk.answer(NO)
        assert "not on a Friday" in bench.heard


async def test_of_two_calls_in_one_pause_each_has_its_own_decision(bench: Bench) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("both")
        asks = {ask["toolCallId"]: ask for ask in talk.asks}
        names = [e for e in talk.events if e["type"] == "TOOL_CALL_START"]
        decided = {e["toolCallId"]: YES if e["toolCallName"] == "notify" else NO for e in names}
        await talk.answer(*(decided[call] for call in asks))
        assert bench.effects == [{"who": "ann"}]


async def test_a_call_that_is_shown_with_other_arguments_than_it_is_asked_about(
    bench: Bench,
) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("shows")
        (ask,) = talk.asks
        asked = ask["metadata"]["acp"]["asked"]["args"]
        assert asked == {"filePath": "a", "text": "b", "diff": "+b"}
        # Also where no metadata is shown, people read what they approve.
        assert json.dumps(asked) in ask["message"]
        await bench.kill_agents()
        await talk.answer(YES)
        assert bench.effects == [asked]
        # It has its card already.
        assert shown(talk) == []
        assert list(results(talk)) == [ask["toolCallId"]]


async def test_a_form_is_filled_in_by_another_process(bench: Bench) -> None:
    async with bridged(bench) as one, bridged(bench) as other:
        first, second = Conversation(one, "coder"), Conversation(other, "coder")
        await first.say("form")
        second.events = first.events
        assert await second.answer({"name": "Ann"}) == "Thanks."
    assert bench.effects == [{"name": "Ann"}]


# --- several processes ---


async def test_of_five_answers_at_two_processes_one_is_carried_out(bench: Bench) -> None:
    async with bridged(bench) as one, bridged(bench) as other:
        first = Conversation(one, "coder")
        await first.say("deploy")
        talks = [Conversation(b, "coder") for b in (one, other, one, other, one)]
        for talk in talks:
            talk.events = first.events
        await asyncio.gather(*(talk.answer(YES) for talk in talks))
        assert bench.effects == [V2]
        assert {talk.events[-1]["type"] for talk in talks} == {"RUN_FINISHED"}


async def test_a_session_that_another_process_went_on_with_is_loaded_anew(bench: Bench) -> None:
    async with bridged(bench) as one, bridged(bench) as other:
        here, there = Conversation(one, "coder"), Conversation(other, "coder")
        await here.say("deploy")
        there.events = here.events
        await there.answer(YES)
        await here.say("hello")
        said = [m["said"] for m in json.loads(bench.heard)]
        # All of it, once: nothing was told as a history.
        assert [words[0].split()[0] for words in said] == [
            *("deploy", "Your", "deploy:", "Done.", "hello"),
        ]


# --- turns that wait at their question ---


async def test_an_answer_goes_to_the_turn_that_waits_and_nothing_is_proposed_again(
    bench: Bench,
) -> None:
    async with bridged(bench, holds=True) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("deploy")
        (ask,) = talk.asks
        before = bench.heard
        assert await talk.answer(YES) == "Done."
        assert bench.effects == [V2]
        assert results(talk) == {ask["toolCallId"]: "deploy: done"}
        assert bench.heard == before
        assert await talk.say("hello") == "Hello."
        assert len(bench.living()) == 1


async def test_what_another_process_is_told_goes_to_the_turn_that_waits(bench: Bench) -> None:
    async with bridged(bench, holds=True) as one, bridged(bench, holds=True) as other:
        first, second = Conversation(one, "coder"), Conversation(other, "coder")
        await first.say("deploy")
        second.events = first.events
        await second.answer(YES)
        assert bench.effects == [V2]
        assert code(second) is None
        # No second agent was begun.
        assert len(bench.living()) == 1


async def test_of_five_answers_while_a_turn_waits_one_is_given_to_it(bench: Bench) -> None:
    async with bridged(bench, holds=True) as one, bridged(bench, holds=True) as other:
        first = Conversation(one, "coder")
        await first.say("both")
        talks = [Conversation(b, "coder") for b in (other, one, other, one, other)]
        for talk in talks:
            talk.events = first.events
        await asyncio.gather(*(talk.answer(YES, YES) for talk in talks))
        assert sorted(map(str, bench.effects)) == sorted(map(str, [V2, {"who": "ann"}]))
        assert {talk.events[-1]["type"] for talk in talks} == {"RUN_FINISHED"}
        assert len(bench.living()) == 1


async def test_a_turn_that_waits_is_given_a_form(bench: Bench) -> None:
    async with bridged(bench, holds=True) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("form")
        assert await talk.answer({"name": "Ann"}) == "Thanks."
    assert bench.effects == [{"name": "Ann"}]


async def test_a_turn_that_waits_asks_again_and_waits_again(bench: Bench) -> None:
    async with bridged(bench, holds=True) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("twice")
        before = bench.heard
        await talk.answer(YES)
        assert (bench.effects, shown(talk)) == ([V2], ["notify"])
        assert await talk.answer(YES) == "Done."
        assert (bench.effects, bench.heard) == ([V2, {"who": "ann"}], before)


async def test_a_reason_is_told_in_a_turn_of_its_own(bench: Bench) -> None:
    async with bridged(bench, holds=True) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("deploy")
        await talk.answer(NO)
        assert "not on a Friday" in bench.heard
        assert bench.effects == []
        assert len(bench.living()) == 1


async def test_an_agent_that_dies_while_it_waits_is_begun_anew_for_the_answer(
    bench: Bench,
) -> None:
    async with bridged(bench, holds=True) as one, bridged(bench, holds=True) as other:
        first, second = Conversation(one, "coder"), Conversation(other, "coder")
        await first.say("deploy")
        second.events = first.events
        await bench.kill_agents()
        await second.answer(YES)
        assert bench.effects == [V2]


async def test_an_agent_that_dies_once_it_was_given_the_answer_leaves_it_unknown(
    bench: Bench,
) -> None:
    async with bridged(bench, holds=True) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("dies")
        await talk.answer(YES)
        assert code(talk) == "RUN_INDETERMINATE"
        await talk.say("hello")
        assert bench.effects == [{"version": "v4"}]


async def test_a_stop_ends_the_turn_that_waits(bench: Bench) -> None:
    async with bridged(bench, holds=True) as one, bridged(bench, holds=True) as other:
        talk = Conversation(one, "coder")
        await talk.say("deploy")
        assert (await other.stop("coder", talk.thread)).status == "success"
        assert await talk.say("hello") == "Hello."
        assert bench.effects == []


async def test_turns_that_wait_make_room_for_messages(bench: Bench) -> None:
    async with bridged(bench, holds=True, max_processes=1) as bridge:
        one, two = Conversation(bridge, "coder", "one"), Conversation(bridge, "coder", "two")
        await one.say("deploy")
        assert await two.say("hello") == "Hello."
        assert await one.answer(YES) == "Done."
        assert bench.effects == [V2]


async def test_a_bridge_that_ends_leaves_no_agent_and_the_question_to_others(
    bench: Bench,
) -> None:
    async with bridged(bench, holds=True) as one:
        talk = Conversation(one, "coder")
        await talk.say("deploy")
    await bench.until_nobody_lives()
    async with bridged(bench, holds=True) as other:
        again = Conversation(other, "coder")
        again.events = talk.events
        await again.answer(YES)
    assert bench.effects == [V2]


# --- what goes wrong ---

FAILING: dict[str, tuple[str, dict[str, Any], str, list[Any], str | None]] = {
    # prompt, options; the code, what was carried out, what the call is told as
    "killed once it was allowed": (
        *("dies", {}, "RUN_INDETERMINATE", [{"version": "v4"}]),
        "is unknown",
    ),
    "killed before it was allowed": ("deploy dies", {}, "UPSTREAM_ERROR", [], "not executed"),
    "forgotten": (
        *("deploy", {"env": {"FORGETS": "1"}}, "UPSTREAM_ERROR", []),
        "not executed",
    ),
}


@pytest.mark.parametrize("case", FAILING)
async def test_what_a_lost_agent_leaves_is_told_as_it_is(bench: Bench, case: str) -> None:
    prompt, options, ending, effects, told = FAILING[case]
    async with bridged(bench, **options) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say(prompt)
        asks = talk.asks
        if case == "forgotten":
            await bench.kill_agents()
        await talk.answer(YES)
        assert (code(talk), bench.effects) == (ending, effects)
        assert told is not None
        assert told in results(talk)[asks[0]["toolCallId"]]
        # It is over: the thread goes on, and a new session is told what was.
        assert await talk.say("hello") == "Hello."
        assert told in bench.heard
    assert bench.effects == effects


ERRORS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "a permission that would last": ("always", {}, "UPSTREAM_ERROR", "for once"),
    "no such program": ("hello", {"command": "/nowhere/agent"}, "UPSTREAM_ERROR", "installed"),
    "no agent": ("hello", {"command": "true"}, "UPSTREAM_ERROR", "does not answer"),
    "no JSON": ("hello", {"command": "echo hello"}, "UPSTREAM_ERROR", "does not answer"),
    "a refusal": ("refuses", {}, "AGENT_REFUSED", "refuses"),
    "modes, none chosen": (
        "hello",
        {"env": {"MODES": "auto,plan"}},
        "UPSTREAM_ERROR",
        "auto, plan",
    ),
    "a mode that there is not": ("hello", {"mode": "ask"}, "UPSTREAM_ERROR", "no mode 'ask'"),
    "a mode that is left": (
        *("leaves", {"env": {"MODES": "default,auto"}}, "UPSTREAM_ERROR"),
        "has left the mode",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
async def test_an_agent_that_can_not_be_trusted_or_had_fails_its_run(
    bench: Bench, case: str
) -> None:
    prompt, options, ending, words = ERRORS[case]
    async with bridged(bench, **options) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say(prompt)
        assert code(talk) == ending
        assert words in talk.events[-1]["message"]
    assert bench.effects == []
    await bench.until_nobody_lives()


async def test_an_agent_that_does_not_end_its_turn_is_killed_and_the_question_stays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_bridge_acp.turn._ENDING", 0.5)
    async with bridged(bench, env={"STUBBORN": "1"}) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("deploy")
        await bench.until_nobody_lives()
        await talk.answer(YES)
        assert bench.effects == [V2]


# --- processes ---


async def test_a_scope_has_its_own_home_and_sees_nothing_of_the_bridge(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    found = []
    async with bridged(bench, env={"GIVEN": "1"}) as bridge:
        for scope in ("a", "b"):
            talk = Conversation(bridge, "coder")
            message = {"id": "u1", "role": "user", "content": "keys"}
            found.append(json.loads(await talk._send(Principal(scope), messages=[message])))
    for keys in found:
        assert "OPENAI_API_KEY" not in keys
        assert (keys["GIVEN"], keys["CWD"]) == ("1", str(bench.folder))
    homes = {keys["HOME"] for keys in found}
    assert len(homes) == 2
    assert {os.stat(home).st_mode & 0o777 for home in homes} == {0o700}


async def test_the_mode_is_set_again_when_a_session_is_loaded(bench: Bench) -> None:
    async with bridged(bench, env={"MODES": "default,auto"}) as bridge:
        talk = Conversation(bridge, "coder")
        assert json.loads(await talk.say("keys"))["MODE"] == "default"
        await bench.kill_agents()
        assert json.loads(await talk.say("keys"))["MODE"] == "default"


async def test_an_agent_is_kept_for_the_next_message_and_makes_room(bench: Bench) -> None:
    async with bridged(bench, max_processes=1) as bridge:
        one, other = Conversation(bridge, "coder", "one"), Conversation(bridge, "coder", "other")
        first = await one.say("pid")
        assert await one.say("pid") == first
        assert await other.say("pid") != first
        assert await one.say("hello") == "Hello."
        busy = asyncio.create_task(other.say("slow"))
        async with asyncio.timeout(PATIENCE):
            while "slow" not in bench.heard:
                await asyncio.sleep(0.02)
        await one.say("hello")
        assert code(one) == "UPSTREAM_ERROR"
        assert "max_processes" in one.events[-1]["message"]
        busy.cancel()
        await asyncio.gather(busy, return_exceptions=True)
    await bench.until_nobody_lives()


async def test_an_agent_that_is_idle_ends(bench: Bench) -> None:
    async with bridged(bench, idle_seconds=0.1) as bridge:
        talk = Conversation(bridge, "coder")
        await talk.say("hello")
        await bench.until_nobody_lives()
        assert await talk.say("hello") == "Hello."


async def test_more_than_is_taken_at_once_comes_whole(bench: Bench) -> None:
    async with bridged(bench) as bridge:
        said = await Conversation(bridge, "coder").say("flood")
    assert said == "".join(f"{number} " for number in range(2000))


async def test_thoughts_plans_and_tokens(bench: Bench) -> None:
    async with bridged(bench) as bridge:
        talk = Conversation(bridge, "coder")
        assert await talk.say("think") == "So."
        kinds = {event["type"]: event for event in talk.events}
        assert kinds["REASONING_MESSAGE_CONTENT"]["delta"] == "Hm."
        assert kinds["ACTIVITY_SNAPSHOT"]["content"]["entries"][0]["content"] == "one"
        (usage,) = talk.events[-1]["usage"]
        assert (usage["inputTokens"], usage["outputTokens"]) == (2, 1)
        assert not any("complaint" in json.dumps(event) for event in talk.events)
