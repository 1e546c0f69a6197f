"""Requests over real pipes: streams, queries, stops, answers, and lines that are none."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.protocol.threads.records import ThreadStatus
from tests.stdio.child import AGENTS, COMMAND, ENVIRONMENT, Child, eventually, run_params, started


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """One process for the tests that do not end theirs; each has its own threads and ids."""
    with started(tmp_path_factory.mktemp("stdio")) as child:
        yield child


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """An id that no other test uses."""
    return str(request.node.name)


def test_a_run_streams_ag_ui_1_0_and_ends_with_a_null_result(shared: Child, name: str) -> None:
    answer = shared.call(name, "agent.stream", **run_params("echo", "hi", name))
    assert answer == {"jsonrpc": "2.0-stream", "id": name, "result": None}
    events = shared.stream(name)
    assert events[0] == {
        "type": "RUN_STARTED", "threadId": name, "runId": "r", "protocolVersion": "1.0",
    }  # fmt: skip
    assert "".join(e.get("delta", "") for e in events) == "You said: hi"
    assert events[-1]["outcome"] == {"type": "success"}
    assert shared.contents("echo", name) == [("user", "hi"), ("assistant", "You said: hi")]


def test_a_client_that_declares_an_older_version_gets_its_shapes(shared: Child, name: str) -> None:
    params = run_params("slow", "go", name, protocolVersion="0.0.59")
    shared.begin(name, "agent.stream", **params)
    shared.event(name, "TEXT_MESSAGE_CONTENT")
    shared.call(f"{name}-stop", "agent.stop", threadId=name)
    last = shared.stream(name)[-1]
    assert (last.get("outcome"), last["result"]) == (None, {"stopReason": "USER_INTERRUPTED"})


def test_nexaus_params_are_taken_and_a_user_has_threads_of_their_own(
    shared: Child, name: str
) -> None:
    params = {"agent": "echo", "user_id": "u1", "session_id": name}
    text = [{"type": "text", "text": "two"}]
    first = shared.call(f"{name}-1", "agent.query", messages="one", **params)
    second = shared.call(
        f"{name}-2", "agent.query", messages=[{"role": "user", "content": text}], **params
    )
    assert (first["result"], second["result"]) == ("You said: one", "You said: two")
    assert [role for role, _ in shared.contents("echo", name, "u1")] == ["user", "assistant"] * 2
    counted = shared.call(f"{name}-c", "agent.query", messages="one", agent="counts")
    assert counted["result"] == '{"characters": 3}', "what it gives in place of words"
    other = shared.call(f"{name}-3", "agent.query", messages="mine", agent="echo", session_id=name)
    assert other["result"] == "You said: mine"
    assert len(shared.contents("echo", name)) == 2


def test_context_and_variables_of_nexau_reach_the_agent_and_no_session_is_a_new_one(
    shared: Child, name: str
) -> None:
    params = {"messages": "x", "context": {"date": "today", "n": 1}, "variables": {"a": 1}}
    answer = shared.call(name, "agent.stream", agent="echo", **params)
    assert answer["result"] is None
    assert len(shared.stream(name)[0]["threadId"]) > 10


@pytest.mark.parametrize("number", ["7", 7, "seven"])
def test_plain_json_rpc_2_0_and_ids_that_are_numbers_are_answered_alike(
    shared: Child, name: str, number: Any
) -> None:
    params = run_params("echo", "hi", name)
    shared.send({"jsonrpc": "2.0", "id": number, "method": "agent.stream", "params": params})
    shared.event(number, "RUN_FINISHED")
    answer = shared.answer(number)
    assert (answer["jsonrpc"], type(answer["id"]), answer["id"]) == ("2.0", type(number), number)
    shared._kept.clear()


def test_a_query_of_ours_tells_text_outcome_and_ids(shared: Child, name: str) -> None:
    answer = shared.call(name, "agent.query", **run_params("echo", "hi", name))
    assert answer["result"] == {
        "threadId": name,
        "runId": "r",
        "outcome": {"type": "success"},
        "text": "You said: hi",
    }


def test_a_request_that_is_sent_again_with_its_ids_is_carried_out_once(
    shared: Child, name: str
) -> None:
    for number in range(2):
        shared.call(f"{name}-{number}", "agent.stream", **run_params("echo", "hi", name))
        (*_, shown, end) = shared.stream(f"{name}-{number}")
        assert end["outcome"] == {"type": "success"}
    assert [m["content"] for m in shown["messages"]] == ["hi", "You said: hi"]


def test_a_failed_run_is_an_error_after_its_event_and_tells_no_secret(
    shared: Child, name: str
) -> None:
    answer = shared.call(name, "agent.stream", **run_params("broken", "x", name))
    assert shared.stream(name)[-1]["type"] == "RUN_ERROR"
    assert (answer["error"]["code"], answer["error"]["data"]) == (-32000, {"code": "AGENT_ERROR"})
    queried = shared.call(f"{name}-q", "agent.query", messages="x", agent="broken")
    assert queried["error"]["data"] == {"code": "AGENT_ERROR"}
    assert "hush" not in json.dumps([answer, queried])


def test_a_pause_is_answered_by_resume_in_the_params(shared: Child, name: str) -> None:
    shared.go_on()
    shared.call(name, "agent.stream", **run_params("asks", "x", name))
    (ask,) = shared.stream(name)[-1]["outcome"]["interrupts"]
    entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
    resume = run_params("asks", None, name, resume=[entry])
    shared.call(f"{name}-2", "agent.stream", **resume)
    events = shared.stream(f"{name}-2")
    assert [e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"] == ["gone"]
    again = shared.call(f"{name}-3", "agent.query", **resume)
    assert again["result"]["outcome"] == {"type": "success"}
    assert shared.effects.count("deleted users") == 1


def test_a_query_with_nexaus_params_that_pauses_says_what_is_asked_and_takes_the_answer(
    shared: Child, name: str
) -> None:
    shared.go_on()
    params = {"agent": "asks", "session_id": name, "user_id": name}
    asked = shared.call(name, "agent.query", messages="x", **params)["error"]
    assert asked["code"] == -32001
    (ask,) = asked["data"]["outcome"]["interrupts"]
    entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": False}}
    answer = shared.call(f"{name}-2", "agent.query", resume=[entry], **params)
    assert answer["result"] == "Kept."


# --- stops ---


def test_a_stop_is_read_while_a_run_streams_and_loses_nothing(shared: Child, name: str) -> None:
    shared.begin(name, "agent.stream", **run_params("slow", "go", name))
    shared.event(name, "TEXT_MESSAGE_CONTENT")
    shared.begin(f"{name}-stop", "agent.stop", threadId=name, agent="slow")
    assert shared.answer(f"{name}-stop")["result"] == {
        "status": "success", "stop_reason": "USER_INTERRUPTED", "message_count": 2, "error": None,
    }  # fmt: skip
    events = shared.stream(name)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    text = "".join(e.get("delta", "") for e in events)
    assert shared.contents("slow", name) == [("user", "go"), ("assistant", text)]
    assert shared.stored("slow", name).status is ThreadStatus.IDLE


@pytest.mark.parametrize("force", [False, True])
def test_nexaus_stop_stops_one_session_and_leaves_the_others(
    shared: Child, name: str, force: bool
) -> None:
    for user in ("u1", "u2"):
        params = {"messages": "go", "user_id": user, "session_id": name, "agent": "slow"}
        shared.begin(f"{name}-{user}", "agent.stream", **params)
    for user in ("u1", "u2"):
        shared.event(f"{name}-{user}", "TEXT_MESSAGE_CONTENT")
    stop = {"session_id": name, "force": force, "timeout": 5}
    answer = shared.call(f"{name}-s1", "agent.stop", user_id="u1", **stop)
    assert answer["result"]["status"] == "success"
    assert shared.stream(f"{name}-u1")[-1]["outcome"] == {"type": "cancelled"}
    assert shared.stored("slow", name, "u2").status is ThreadStatus.RUNNING
    shared.call(f"{name}-s2", "agent.stop", user_id="u2", **stop)
    assert shared.stream(f"{name}-u2")[-1]["outcome"] == {"type": "cancelled"}


def test_a_stop_in_the_same_breath_as_its_run_is_not_lost(shared: Child, name: str) -> None:
    for number in range(10):
        thread = f"{name}-{number}"
        shared.send(
            {"id": thread, "method": "agent.stream", "params": run_params("slow", "go", thread)},
            {"id": f"{thread}-stop", "method": "agent.stop", "params": {"threadId": thread}},
        )
        assert shared.answer(f"{thread}-stop")["result"]["status"] == "success"
        assert shared.stream(thread)[-1]["outcome"] == {"type": "cancelled"}


def test_a_query_can_be_stopped(shared: Child, name: str) -> None:
    shared.begin(name, "agent.query", **run_params("slow", "go", name))
    eventually(lambda: shared.contents("slow", name))
    shared.call(f"{name}-stop", "agent.stop", threadId=name)
    result = shared.answer(name)["result"]
    assert result["outcome"] == {"type": "cancelled"}
    assert shared.contents("slow", name)[-1] == ("assistant", result["text"])


def test_a_stop_of_an_unknown_session_is_nexaus_error_and_without_one_it_is_malformed(
    shared: Child, name: str
) -> None:
    unknown = shared.call(f"{name}-1", "agent.stop", user_id="u1", session_id="nope")["error"]
    message = "No running agent found for user_id=u1, session_id=nope, agent_id=any"
    assert (unknown["code"], unknown["message"]) == (-32000, message)
    assert unknown["data"]["status"] == "error"
    malformed = shared.call(f"{name}-2", "agent.stop", user_id="u1")["error"]
    assert (malformed["code"], "session_id" in malformed["message"]) == (-32602, True)


# --- lines that are none ---

BAD: list[tuple[bytes, int, str | None]] = [
    (b"not json", -32700, None),
    (b'{"jsonrpc":"2.0","id":"x"', -32700, None),
    (b'{"a":NaN}', -32700, None),
    (b'{"jsonrpc":"3.0","id":"1","id":"2","method":"initialize"}', -32700, None),
    (b'{"a":"\xff"}', -32700, None),
    (b"[" * 100_000, -32700, None),
    (b"[" + b"0," * 100_000 + b"0]", -32600, None),
    (b"7", -32600, None),
    (b"null", -32600, None),
    (b"{}", -32600, None),
    (b'[{"jsonrpc":"2.0","id":"x","method":"agent.stop"}]', -32600, None),
    (b'{"id":"x","method":"agent.stream"}', -32600, "x"),
    (b'{"jsonrpc":"1.0","id":"x","method":"agent.stream"}', -32600, "x"),
    (b'{"jsonrpc":"2.0","method":"agent.stream","params":{}}', -32600, None),
    (b'{"jsonrpc":"2.0","id":null,"method":"agent.stream"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"agent.stream"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":"x"}', -32600, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":7}', -32600, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"agent.nope"}', -32601, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"agent.stream","params":[]}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"agent.stream","params":{}}', -32602, "x"),
    (
        b'{"jsonrpc":"2.0","id":"x","method":"agent.stream","params":{"messages":"which?"}}',
        -32602,
        "x",
    ),
    (
        b'{"jsonrpc":"2.0","id":"x","method":"agent.query","params":{"messages":"hi","agent":"no"}}',
        -32602,
        "x",
    ),
    (
        b'{"jsonrpc":"2.0","id":"x","method":"agent.stream","params":{"threadId":"t","agent":"echo",'
        b'"messages":"no list"}}',
        -32602,
        "x",
    ),
    (
        b'{"jsonrpc":"2.0","id":"x","method":"agent.stream","params":{"messages":[7],'
        b'"agent":"echo"}}',
        -32602,
        "x",
    ),
    (
        b'{"jsonrpc":"2.0","id":"x","method":"agent.stop","params":{"session_id":"t",'
        b'"force":"yes"}}',
        -32602,
        "x",
    ),
    *(
        (
            b'{"jsonrpc":"2.0","id":"x","method":"agent.query","params":{"messages":"hi",'
            b'"agent":"echo","user_id":"%b"}}' % user,
            -32602,
            "x",
        )
        # Half a character, no text at all, too long, and the scope of those who name no user.
        for user in (b"\\ud800", b"a\\u0000", b"u" * 5_000, b"default")
    ),
]


@pytest.mark.parametrize(("line", "code", "request_id"), BAD, ids=range(len(BAD)))
def test_a_bad_line_gets_a_json_rpc_error_and_the_next_one_is_read(
    shared: Child, name: str, line: bytes, code: int, request_id: str | None
) -> None:
    shared._kept.clear()
    shared.write(line)
    error = shared.answer(request_id)
    assert error["error"]["code"] == code
    assert error["error"]["message"]
    assert set(error) == {"jsonrpc", "id", "error"}
    assert shared.call(name, "agent.query", messages="hi", agent="echo")["result"]


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read(
    shared: Child, name: str
) -> None:
    shared._kept.clear()
    shared.write(b'{"x":"' + b"y" * (9 * 1024 * 1024) + b'"}')
    error = shared.answer(None)["error"]
    assert (error["code"], "8388608" in error["message"]) == (-32600, True)
    assert shared.call(name, "agent.query", messages="hi", agent="echo")["result"]


def test_a_thread_that_no_path_can_name_is_refused(shared: Child, name: str) -> None:
    error = shared.call(name, "agent.stream", **run_params("echo", "go", "a/stop"))["error"]
    assert error["data"]["code"] == "INVALID_INPUT"
    assert "threadId: an id may not end in '/stop'" in error["message"]


def test_an_id_that_is_in_use_is_refused(shared: Child, name: str) -> None:
    shared.begin(name, "agent.stream", **run_params("slow", "go", name))
    shared.event(name, "TEXT_MESSAGE_CONTENT")
    error = shared.call(name, "agent.stop", threadId=name)["error"]
    assert (error["code"], "this id" in error["message"]) == (-32600, True)
    shared._kept[:] = [m for m in shared._kept if "error" not in m]
    shared.call(f"{name}-stop", "agent.stop", threadId=name)
    assert shared.stream(name)[-1]["outcome"] == {"type": "cancelled"}


def test_a_second_run_of_a_busy_thread_is_refused_and_the_first_goes_on(
    shared: Child, name: str
) -> None:
    shared.begin(name, "agent.stream", **run_params("slow", "go", name))
    shared.event(name, "TEXT_MESSAGE_CONTENT")
    second = shared.call(f"{name}-2", "agent.stream", **run_params("slow", "again", name))
    assert second["error"]["data"] == {"code": "RUN_IN_PROGRESS"}
    shared.call(f"{name}-stop", "agent.stop", threadId=name)
    assert shared.stream(name)[-1]["outcome"] == {"type": "cancelled"}


def test_what_an_agent_prints_and_its_tools_read_does_not_touch_the_protocol(
    shared: Child, name: str
) -> None:
    shared.send(
        {"id": name, "method": "agent.query", "params": {"messages": "x", "agent": "chatty"}},
        {"id": f"{name}-2", "method": "agent.query", "params": {"messages": "y", "agent": "echo"}},
    )
    assert shared.answer(name)["result"] == "clean"
    assert shared.answer(f"{name}-2")["result"] == "You said: y"
    assert {"this is printed", "so is this"} <= set(shared.errors.splitlines())


def test_it_works_on_files_as_on_pipes(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "requests").write_text('{"jsonrpc":"2.0","id":"1","method":"agent.nope"}')
    with (tmp_path / "requests").open() as requests, (tmp_path / "answers").open("w") as answers:
        subprocess.run(
            COMMAND, cwd=tmp_path, env=ENVIRONMENT, stdin=requests, stdout=answers, check=True
        )
    (answer,) = (tmp_path / "answers").read_text().splitlines()
    assert json.loads(answer)["error"]["code"] == -32601
