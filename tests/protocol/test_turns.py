"""Messages as turns: what a model is told of a conversation."""

from __future__ import annotations

from typing import Any

from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.turns import CalledTool, Turn, text_of, turns_of

Message = dict[str, Any]


def user(content: Any) -> Message:
    return {"id": "u", "role": "user", "content": content}


def assistant(text: str = "", *calls: str, **more: Any) -> Message:
    listed = [
        {"id": call, "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
        for call in calls
    ]
    message = {"id": "a", "role": "assistant", "content": text, **more}
    return {**message, "toolCalls": listed} if listed else message


def result(call: str, content: Any = "seen") -> Message:
    return {"id": f"r-{call}", "role": "tool", "toolCallId": call, "content": content}


def called(call: str, content: Any = "seen") -> CalledTool:
    return CalledTool(call, "look", '{"at": 1}', content)


def test_arguments_that_are_too_deep_to_be_read_are_none() -> None:
    deep = {"id": "c", "function": {"name": "look", "arguments": "[" * 100_000}}
    (turn,) = turns_of([{"id": "a", "role": "assistant", "toolCalls": [deep]}])
    assert turn.calls == (CalledTool("c", "look", "{}", UNTOLD),)


def test_neighbours_of_one_side_are_one_turn() -> None:
    assert turns_of([user("a"), user("b"), assistant("c"), assistant("d")]) == [
        Turn("user", "a\n\nb"),
        Turn("assistant", "c\n\nd"),
    ]


def test_text_and_calls_of_one_reply_are_one_turn_with_its_results() -> None:
    messages = [assistant("I look."), assistant("", "1"), assistant("", "2")]
    results = [result("2", "two"), result("1", "one")]
    assert turns_of([*messages, *results, assistant("Done.")]) == [
        Turn("assistant", "I look.", (called("1", "one"), called("2", "two"))),
        Turn("assistant", "Done."),
    ]


def test_what_is_said_after_a_result_is_another_turn() -> None:
    messages = [assistant("", "1"), result("1"), assistant("", "2"), result("2"), user("ok")]
    assert [turn.calls for turn in turns_of(messages)] == [(called("1"),), (called("2"),), ()]


def test_every_call_is_answered() -> None:
    assert turns_of([assistant("", "1")]) == [Turn("assistant", "", (called("1", UNTOLD),))]


def test_arguments_that_were_cut_off_are_none() -> None:
    message = assistant("", "1")
    for cut in ("", '{"at": ', "[1]", "nonsense"):
        message["toolCalls"][0]["function"]["arguments"] = cut
        (turn,) = turns_of([message])
        assert turn.calls[0].arguments == "{}"


def test_sub_agents_reasoning_activities_and_empty_messages_are_left_out() -> None:
    messages = [
        user("go"),
        assistant("within", subagentRunId="s"),
        {"id": "x", "role": "reasoning", "content": "hm"},
        {"id": "y", "role": "activity", "activityType": "t", "content": {}},
        assistant(""),
        {"id": "z", "role": "developer", "content": "be brief"},
    ]
    assert turns_of(messages) == [Turn("user", "go"), Turn("system", "be brief")]


def test_media_stay_parts_beside_text() -> None:
    image = {"type": "image", "source": {"type": "url", "value": "https://a.example/b.png"}}
    (turn,) = turns_of([user("see"), user([image])])
    assert turn.content == [{"type": "text", "text": "see"}, image]
    assert text_of(turn.content) == "see"
