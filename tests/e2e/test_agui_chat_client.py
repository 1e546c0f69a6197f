"""Agent Framework's AGUIChatClient against the bridge, by what that package documents alone."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable, Iterator

import pytest

from matrix.__main__ import ENVIRONMENTS
from tests.docs.pages import ROOT, snippets_of
from tests.e2e.clients import cancelled, resolved
from tests.e2e.lines import PATIENCE, Lines
from tests.e2e.programs import Program, client_process
from tests.e2e.target import Target
from tests.servers.peers.peer import python_of
from tests.support.waiting import wait_until

APPROVE = {"approved": True}
TOKENS = 60
WHOLE = " ".join(str(number) for number in range(TOKENS))

OpenProgram = Callable[..., Program]


@pytest.fixture(scope="module")
def process() -> Iterator[Lines]:
    """A process with the client in it, for all tests."""
    with client_process() as process:
        yield process


@pytest.fixture
def thread() -> str:
    """A thread of its own."""
    return f"thread-{secrets.token_hex(6)}"


@pytest.fixture
def open_program(process: Lines, target: Target, thread: str) -> Iterator[OpenProgram]:
    """Opens programs on the test's thread, each as one does that knows only its id."""
    programs: list[Program] = []

    def open_program(path: str = "", *, server: Target = target, agent: bool = False) -> Program:
        programs.append(Program(process, server.url + path, thread, agent=agent))
        return programs[-1]

    yield open_program
    for program in programs:
        program.close()


@pytest.fixture
def program(open_program: OpenProgram) -> Program:
    """A program on a new thread."""
    return open_program()


def conversation(target: Target, thread: str) -> list[tuple[str, str | None]]:
    """Who said what on a thread."""
    return [(m["role"], m.get("content")) for m in target.thread(thread)["messages"]]


@pytest.mark.feature("AGUIChatClient", "approve")
def test_an_approved_call_is_executed_once_with_the_arguments_shown(
    program: Program, target: Target, thread: str, name: str
) -> None:
    asking = program.say(f"send {name}")
    [ask] = asking.interrupts
    assert (asking.outcome, ask["reason"]) == ("interrupt", "tool_call")
    assert target.executed(name) == []

    resumed = program.answer(resolved(ask, APPROVE))

    sent = {"tool": "send_email", "to": f"{name}-0@example.com", "body": "original"}
    assert target.executed(name) == [sent]
    assert resumed.results == [[ask["toolCallId"], f"sent to {name}-0@example.com"]]
    assert (resumed.outcome, resumed.errors) == ("success", [])
    assert resumed.text == f"Outcome: sent to {name}-0@example.com."
    assert program.say("thanks").text == "You said: thanks"
    assert target.statuses(thread) == ["resolved"]


@pytest.mark.feature("AGUIChatClient", "deny")
def test_a_denied_call_is_not_executed_and_its_result_gives_the_reason(
    program: Program, target: Target, name: str
) -> None:
    [ask] = program.say(f"send {name}").interrupts
    resumed = program.answer(resolved(ask, {"approved": False, "reason": "wrong address"}))
    [[call_id, content]] = resumed.results
    assert call_id == ask["toolCallId"]
    assert "wrong address" in content
    assert resumed.text == "Outcome: not sent."
    assert target.executed(name) == []


@pytest.mark.feature("AGUIChatClient", "edit")
def test_edited_arguments_replace_those_of_the_model_whole(
    program: Program, target: Target, name: str
) -> None:
    [ask] = program.say(f"send {name}").interrupts
    edited = {"to": f"{name}-edited@example.com", "body": "shorter"}
    resumed = program.answer(resolved(ask, {**APPROVE, "editedArgs": edited}))
    assert target.executed(name) == [{"tool": "send_email", **edited}]
    assert resumed.text == f"Outcome: sent to {name}-edited@example.com."


@pytest.mark.feature("AGUIChatClient", "cancel")
def test_a_cancelled_call_is_not_executed(
    program: Program, target: Target, thread: str, name: str
) -> None:
    [ask] = program.say(f"send {name}").interrupts
    assert program.answer(cancelled(ask)).text == "Outcome: not sent."
    assert target.executed(name) == []
    assert target.statuses(thread) == ["cancelled"]


@pytest.mark.feature("AGUIChatClient", "form", "refused")
def test_a_form_that_is_filled_in_wrongly_is_refused_and_can_be_corrected(
    program: Program, target: Target, thread: str, name: str
) -> None:
    asked = program.say(f"form {name}").interrupts
    assert sorted(asked[0]["responseSchema"]["properties"]) == ["quarter", "year"]
    refused = program.answer(resolved(asked[0], {"quarter": "Q3"}))
    assert refused.interrupts == asked
    [error] = refused.errors
    assert '"year" is missing' in error
    assert target.statuses(thread) == ["open"]
    corrected = program.answer(resolved(asked[0], {"quarter": "Q3", "year": 2026}))
    assert (corrected.text, corrected.errors) == ("Quarter: Q3 2026.", [])


@pytest.mark.feature("AGUIChatClient", "confirm")
@pytest.mark.parametrize(("yes", "told"), [(True, "Confirmed."), (False, "Not confirmed.")])
def test_a_confirmation_is_a_yes_or_a_no(program: Program, name: str, yes: bool, told: str) -> None:
    [ask] = program.say(f"confirm {name}").interrupts
    assert ask["reason"] == "confirmation"
    assert program.answer(resolved(ask, {"confirm": yes})).text == told


@pytest.mark.feature("AGUIChatClient", "several")
def test_of_two_parallel_calls_the_approved_one_runs_and_the_cancelled_one_does_not(
    program: Program, target: Target, name: str
) -> None:
    first, second = program.say(f"both {name}").interrupts
    resumed = program.answer(resolved(first, APPROVE), cancelled(second))
    assert [line["to"] for line in target.executed(name)] == [f"{name}-0@example.com"]
    assert {i for i, _ in resumed.results} == {first["toolCallId"], second["toolCallId"]}
    assert resumed.text == f"Outcomes: sent to {name}-0@example.com, not sent."


@pytest.mark.feature("AGUIChatClient", "reload")
def test_another_program_that_comes_to_the_thread_finds_the_question_and_answers_it(
    open_program: OpenProgram, target: Target, thread: str, name: str
) -> None:
    asked = open_program().say(f"send {name}").interrupts
    found = open_program(f"/threads/{thread}/connect").listen()
    assert found.interrupts == asked
    resumed = open_program().answer(resolved(asked[0], APPROVE))
    assert resumed.text == f"Outcome: sent to {name}-0@example.com."
    assert len(target.executed(name)) == 1


@pytest.mark.feature("AGUIChatClient", "follow")
def test_a_run_goes_on_without_its_program_and_another_one_is_told_all_of_it(
    open_program: OpenProgram, steady: Target, thread: str, name: str
) -> None:
    first = open_program(server=steady)
    first.begin(f"count {name} {TOKENS}").until("TEXT", 3)
    first.stop()
    second = open_program(f"/threads/{thread}/connect", server=steady)
    following = second.begin_to_listen()
    following.until("TEXT", 3)
    assert steady.thread(thread)["status"] == "running"
    assert second.take(following).text == WHOLE
    assert len(steady.executed(name)) == TOKENS


@pytest.mark.feature("AGUIChatClient", "elsewhere")
def test_an_answer_after_another_one_is_refused_and_the_thread_goes_on(
    open_program: OpenProgram, target: Target, name: str
) -> None:
    first, second = open_program(), open_program()
    [ask] = first.say(f"send {name}").interrupts
    first.answer(resolved(ask, APPROVE))
    refused = second.answer(resolved(ask, {"approved": False}))
    [error] = refused.errors
    assert error.startswith("Another answer was given")
    assert refused.interrupts == []
    assert second.say("hello?").text == "You said: hello?"
    assert len(target.executed(name)) == 1


@pytest.mark.feature("AGUIChatClient", "expired")
def test_an_answer_after_the_time_is_refused_and_the_thread_goes_on(
    program: Program, target: Target, thread: str, name: str
) -> None:
    [ask] = program.say(f"brief {name}").interrupts
    target.wait_for_expiry(thread)
    late = program.answer(resolved(ask, APPROVE))
    [error] = late.errors
    assert "The time to answer" in error
    assert program.say("never mind").text == "You said: never mind"
    assert target.executed(name) == []


@pytest.mark.feature("AGUIChatClient", "page tool")
def test_a_tool_of_the_program_runs_there_and_its_result_goes_on(
    program: Program, target: Target, thread: str, name: str
) -> None:
    response = program.say(f"frontend {name}")
    assert response.text == f"Shown: the page {name}."
    assert [result for _, result in response.results] == [f"the page {name}"]
    # The client sends the message again, under another id.
    assert conversation(target, thread) == [
        ("user", f"frontend {name}"),
        ("assistant", None),
        ("tool", f"the page {name}"),
        ("assistant", f"Shown: the page {name}."),
    ]


@pytest.mark.feature("AGUIChatClient", "stop")
def test_what_was_said_before_a_stop_is_kept_and_the_thread_goes_on(
    program: Program, target: Target, thread: str
) -> None:
    program.begin("slow 200").until("TEXT", 3)
    program.stop()
    kept = target.settled(thread)["messages"][-1]
    assert kept["content"].startswith("0 1 2 ")
    assert "199" not in kept["content"]
    assert program.say("go on").text == "You said: go on"


@pytest.mark.feature("AGUIChatClient", "stop")
def test_a_run_that_goes_on_without_its_program_ends_by_the_stop_request(
    open_program: OpenProgram, steady: Target, thread: str, name: str
) -> None:
    program = open_program(server=steady)
    program.begin(f"count {name} 200").until("TEXT", 3)
    program.stop()
    before = len(steady.executed(name))
    wait_until(lambda: len(steady.executed(name)) > before)
    steady.stop(thread)
    steps = len(steady.executed(name))
    kept = steady.thread(thread)
    assert kept["status"] == "idle"
    assert kept["messages"][-1]["content"].startswith("0 1 2 ")
    assert steps < 200
    assert program.say("go on").text == "You said: go on"
    assert len(steady.executed(name)) == steps


@pytest.mark.feature("AGUIChatClient", "rewrite")
def test_a_message_that_is_changed_takes_the_place_of_what_followed_the_one_before_it(
    program: Program, target: Target, thread: str
) -> None:
    one = {"id": secrets.token_hex(6), "role": "user", "text": "one"}
    [reply] = program.tell(one).said
    program.say("two")
    assert program.tell(one, reply, {"role": "user", "text": "two, edited"}).errors == []
    assert [text for _, text in conversation(target, thread)] == [
        *("one", "You said: one"),
        *("two, edited", "You said: two, edited"),
    ]


def test_over_calls_that_only_look_a_program_goes_back(
    open_program: OpenProgram, steady: Target, thread: str, name: str
) -> None:
    program = open_program(server=steady)
    one = {"id": secrets.token_hex(6), "role": "user", "text": "one"}
    [reply] = program.tell(one).said
    program.say(f"look {name} 1")
    assert program.tell(one, reply, {"role": "user", "text": "two, edited"}).errors == []
    assert [text for _, text in conversation(steady, thread)] == [
        *("one", "You said: one"),
        *("two, edited", "You said: two, edited"),
    ]


def test_a_program_that_is_behind_takes_no_approved_call_back(
    open_program: OpenProgram, target: Target, thread: str, name: str
) -> None:
    behind, ahead = open_program(), open_program()
    one = {"id": secrets.token_hex(6), "role": "user", "text": "one"}
    [reply] = behind.tell(one).said
    [ask] = ahead.say(f"send {name}").interrupts
    ahead.answer(resolved(ask, APPROVE))
    assert behind.tell(one, reply, {"role": "user", "text": "two, edited"}).errors == []
    texts = [text for _, text in conversation(target, thread) if text]
    assert texts[2:] == [
        *(f"send {name}", f"sent to {name}-0@example.com"),
        f"Outcome: sent to {name}-0@example.com.",
        *("two, edited", "You said: two, edited"),
    ]
    assert len(target.executed(name)) == 1


def test_after_its_connection_broke_a_program_takes_no_call_back_that_it_has_not_seen(
    open_program: OpenProgram, steady: Target, thread: str, name: str
) -> None:
    program = open_program(server=steady)
    one = {"id": secrets.token_hex(6), "role": "user", "text": "one"}
    [reply] = program.tell(one).said
    program.begin(f"pay {name} 40").until("TEXT", 3)
    program.stop()
    wait_until(lambda: len(steady.executed(name)) == 1)
    steady.settled(thread)
    assert program.tell(one, reply, {"role": "user", "text": "two, edited"}).errors == []
    texts = [text for _, text in conversation(steady, thread) if text]
    assert texts[-4:] == [
        *("done", f"Outcome of pay {name}: done."),
        *("two, edited", "You said: two, edited"),
    ]
    assert len(steady.executed(name)) == 1


@pytest.mark.feature("AGUIChatClient", "page state")
def test_a_state_that_a_program_sends_is_kept(
    program: Program, target: Target, thread: str, name: str
) -> None:
    [ask] = program.say(f"confirm {name}", state={"theme": "dark"}).interrupts
    program.answer(resolved(ask, {"confirm": True}))
    assert target.thread(thread)["state"] == {"theme": "dark"}


def test_an_agent_that_sends_the_whole_conversation_each_time_has_it_once(
    open_program: OpenProgram, target: Target, thread: str, name: str
) -> None:
    program = open_program(agent=True)
    program.say("hello")
    assert program.say(f"frontend {name}").text == f"Shown: the page {name}."
    [ask] = program.say(f"send {name}").interrupts
    program.answer(resolved(ask, APPROVE))
    program.say("hello")
    outcome = f"sent to {name}-0@example.com"
    assert conversation(target, thread) == [
        *(("user", "hello"), ("assistant", "You said: hello")),
        *(("user", f"frontend {name}"), ("assistant", None), ("tool", f"the page {name}")),
        ("assistant", f"Shown: the page {name}."),
        *(("user", f"send {name}"), ("assistant", None), ("tool", outcome)),
        ("assistant", f"Outcome: {outcome}."),
        *(("user", "hello"), ("assistant", "You said: hello")),
    ]
    assert len(target.executed(name)) == 1


def test_the_program_of_the_page_asks_whoever_runs_it(target: Target, name: str) -> None:
    [(_, code)] = snippets_of(ROOT / "docs" / "agui-chat-client.md")
    code = code.replace("http://127.0.0.1:8787/agents/target", target.url)
    code = code.replace('"mails"', f'"mails-{name}"').replace("send ann", f"send {name}")
    ran = subprocess.run(
        [python_of("agent_framework", ENVIRONMENTS), "-c", code],
        input="y\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    asked, _, told = ran.stdout.partition(" [y/n] ")
    assert asked == f"Send an email to {name}-0@example.com?"
    assert told.strip() == f"Outcome: sent to {name}-0@example.com."
    assert len(target.executed(name)) == 1
