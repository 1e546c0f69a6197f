"""The shared state: deltas on the wire, replays, and what the frontend changes meanwhile."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.state import MAX_OPERATIONS, difference, merge
from agui_bridge.protocol.json_patch import apply_patch
from tests.agents.function.harness import Thread, yes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, "a", "b/~"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "c/d", "e~f"]), inner, max_size=4)
    ),
    max_leaves=15,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c/d", "e~f"]), VALUES, max_size=4)


@given(VALUES, VALUES)
def test_the_difference_applied_to_the_one_gives_the_other(before: Any, after: Any) -> None:
    patched = apply_patch(before, difference(before, after))
    assert json.dumps(patched, sort_keys=True) == json.dumps(after, sort_keys=True)


@given(VALUES)
def test_equal_values_have_no_difference(value: Any) -> None:
    assert difference(value, json.loads(json.dumps(value))) == []


def test_a_difference_is_small_where_little_changed_and_bounded_where_much_did() -> None:
    assert difference([1, 2, 3], [1, 9, 2, 3]) == [{"op": "add", "path": "/1", "value": 9}]
    assert difference([1, 2, 3, 4], [1, 4]) == [
        {"op": "remove", "path": "/2"},
        {"op": "remove", "path": "/1"},
    ]
    assert difference({"a": {"b": 1}}, {"a": {"b": True}}) == [
        {"op": "replace", "path": "/a/b", "value": True}
    ]
    many = {str(n): n for n in range(MAX_OPERATIONS + 1)}
    assert difference({}, many) == [{"op": "replace", "path": "", "value": many}]


@given(OBJECTS, OBJECTS)
def test_a_merge_into_the_unchanged_gives_the_changed(before: Any, after: Any) -> None:
    target = json.loads(json.dumps(before))
    merge(target, before, after)
    assert json.dumps(target, sort_keys=True) == json.dumps(after, sort_keys=True)


@given(OBJECTS, OBJECTS)
def test_a_merge_without_changes_keeps_the_target(before: Any, mine: Any) -> None:
    target = json.loads(json.dumps(mine))
    merge(target, before, json.loads(json.dumps(before)))
    assert target == mine


@pytest.mark.anyio
async def test_changes_go_out_at_calls_yields_and_the_end_and_only_if_there_are_any() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        run.state["n"] = 1
        yield "a"
        run.state["n"] = 2
        await run.step("x", lambda: 1)
        yield "b"
        run.state["l"] = (1, 2)

    thread = Thread(lambda: agent, state={"n": 0})
    deltas = [w[1] if isinstance(w, tuple) else w for w in (await thread.go()).wire]
    assert deltas == [
        [{"op": "replace", "path": "/n", "value": 1}],
        "a",
        [{"op": "replace", "path": "/n", "value": 2}],
        "b",
        [{"op": "add", "path": "/l", "value": [1, 2]}],
    ]


@pytest.mark.anyio
async def test_reading_the_state_emits_nothing_and_the_given_state_is_not_touched() -> None:
    given_state = {"deep": {"n": 0}}

    async def reads(run: FunctionRun) -> str:
        return str(run.state)

    async def writes(run: FunctionRun) -> None:
        run.state["deep"]["n"] = 1

    assert (await Thread(lambda: reads, state=given_state).go()).wire == ["{'deep': {'n': 0}}"]
    assert (await Thread(lambda: reads).go()).wire == ["{}"]
    await Thread(lambda: writes, state=given_state).go()
    assert given_state == {"deep": {"n": 0}}


@pytest.mark.anyio
@pytest.mark.parametrize("state", [None, [1], "x"])
async def test_a_state_that_is_no_object_is_replaced_whole_by_the_first_change(state: Any) -> None:
    async def agent(run: FunctionRun) -> None:
        run.state["a"] = 1

    thread = Thread(lambda: agent, state=state)
    await thread.go()
    assert thread.state == {"a": 1}


@pytest.mark.anyio
async def test_state_before_across_and_after_two_pauses_with_a_frontend_that_edits() -> None:
    seen: list[Any] = []

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        state = run.state
        state["log"] = ["start"]
        state["count"] = state.get("count", 0) + 1
        inner = state.setdefault("inner", {})
        yield "1"
        await run.confirm("first?")
        inner["mine"] = 1
        seen.append(json.loads(json.dumps(state)))
        state["log"].append("middle")
        yield "2"
        await run.confirm("second?")
        seen.append(json.loads(json.dumps(state)))
        state["log"].append("end")

    thread = Thread(lambda: agent, state={"count": 5})
    await thread.go()
    assert thread.state == {"count": 6, "log": ["start"], "inner": {}}
    thread.state = {**thread.state, "count": 50, "inner": {"theirs": 2}}
    second = await thread.answer(yes)
    assert seen[0] == {"count": 50, "log": ["start"], "inner": {"theirs": 2, "mine": 1}}
    assert len(second.items) == 2, "one delta, one text"
    assert thread.state["log"] == ["start", "middle"]
    thread.state.pop("inner")
    third = await thread.answer(yes)
    assert seen[-1] == {"count": 50, "log": ["start", "middle"]}
    assert thread.state == {"count": 50, "log": ["start", "middle", "end"]}
    assert len(third.items) == 1


@pytest.mark.anyio
async def test_a_state_first_looked_at_after_a_pause_is_the_one_of_then() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        await run.confirm("first?")
        run.state["n"] += 1
        await run.confirm("second?")
        yield str(run.state["n"])

    thread = Thread(lambda: agent, state={"n": 0})
    await thread.go()
    thread.state = {"n": 10}
    await thread.answer(yes)
    assert thread.state == {"n": 11}
    assert (await thread.answer(yes)).items == ["11"]


@pytest.mark.anyio
async def test_changes_made_right_before_a_pause_go_out_before_it() -> None:
    async def agent(run: FunctionRun) -> None:
        run.state["phase"] = "asking"
        await run.confirm("?")

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert thread.state == {"phase": "asking"}
    assert first.asked == ["?"]
