"""What a call would do is made once, when it is asked about; where that fails nobody is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import CommandPreview, DiffPreview, FunctionRun, PreviewFailed, Verdict
from agui_bridge.agents.chat import Tool, tool
from agui_bridge.errors import ConfigurationError
from tests.agents.chat.office import MAIL, SEND, office, results
from tests.agents.function.harness import Thread, no, yes
from tests.servers.model.script import Reply

SHOWN = CommandPreview("sendmail ann@example.com", "/srv")


def told_of(ask: dict[str, Any]) -> Any:
    return ask["metadata"]["agui_bridge"]["preview"]


def ask_first(call: Any) -> Verdict:
    return Verdict("allow") if call.approved else Verdict("ask", editable=True)


BY_THE_TOOL = {"approval": "always"}
BY_THE_POLICY = {"approval": "never", "policy": ask_first}


class Made:
    """Makes previews, and counts them."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.of: list[Any] = []
        self._fault = fault

    def __call__(self, args: dict[str, Any]) -> CommandPreview:
        self.of.append(dict(args))
        args.clear()
        if self._fault is not None:
            raise self._fault
        return SHOWN


@pytest.mark.parametrize("asking", [BY_THE_TOOL, BY_THE_POLICY], ids=["the tool", "the policy"])
async def test_a_tools_preview_is_made_once_and_stands_in_the_question(
    asking: dict[str, Any],
) -> None:
    made = Made()
    async with office(Reply(calls=[SEND]), Reply("Sent."), preview=made, **asking) as it:
        asked = await it.say()
        (ask,) = asked.events[-1]["outcome"]["interrupts"]
        assert told_of(ask) == SHOWN.to_json()
        done = await it.answer(
            asked, approved=True, editedArgs={"to": "bo@example.com", "copies": 2}
        )
        # What runs are the edited arguments, whatever the preview said.
        assert it.executed == [{"to": "bo@example.com", "copies": 2}]
        assert results(done) == ["sent to bo@example.com"]
        assert made.of == [MAIL]


@pytest.mark.parametrize("asking", [BY_THE_TOOL, BY_THE_POLICY], ids=["the tool", "the policy"])
async def test_where_a_preview_fails_nobody_is_asked_nothing_runs_and_the_model_reads_so(
    asking: dict[str, Any],
) -> None:
    made = Made(FileNotFoundError("/secret/path"))
    async with office(Reply(calls=[SEND]), Reply("Then not."), preview=made, **asking) as it:
        done = await it.say()
        assert done.events[-1]["outcome"] == {"type": "success"}
        assert it.executed == []
        (told,) = results(done)
        assert "could not be shown, so nobody was asked: FileNotFoundError" in told
        assert "not executed" in told and "secret" not in told
        assert it.heard()[-1] == ("tool", told)


def test_a_preview_that_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="preview of the tool 'look' is a function"):
        Tool(lambda: None, name="look", preview=SHOWN)  # type: ignore[arg-type]


async def test_a_tool_may_have_nothing_to_show_besides() -> None:
    @tool(preview=lambda args: None)
    def look() -> str:
        return ""

    assert look.preview is not None
    async with office(Reply(calls=[SEND]), preview=lambda args: None) as it:
        (ask,) = (await it.say()).events[-1]["outcome"]["interrupts"]
        assert "agui_bridge" not in ask["metadata"]


def writing(preview: Any) -> Any:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        try:
            approval = await run.approve("write", {"text": "new"}, preview=preview)
        except PreviewFailed as failed:
            approval = None
            yield f"not shown: {failed.error};"
        await run.confirm("more?")
        yield "approved" if approval else "not approved"

    return lambda: agent


async def test_an_agents_preview_is_made_when_it_asks_and_in_no_replay() -> None:
    seen: list[Any] = []

    async def make(args: dict[str, Any]) -> DiffPreview:
        seen.append(args)
        return DiffPreview.of("x", "old", args["text"])

    thread = Thread(writing(make))
    (ask,) = (await thread.go()).pause.asks
    assert ask.preview == DiffPreview.of("x", "old", "new")
    await thread.answer(yes)
    assert (await thread.answer(yes)).text == "approved"
    assert seen == [{"text": "new"}]


async def test_a_failed_preview_is_the_same_at_every_replay() -> None:
    faults = [RuntimeError("gone"), None]

    def make(args: dict[str, Any]) -> DiffPreview:
        if (fault := faults.pop(0)) is not None:
            raise fault
        raise AssertionError("made again in a replay")

    thread = Thread(writing(make))
    first = await thread.go()
    assert (first.text, first.asked) == ("not shown: RuntimeError;", ["more?"])
    assert (await thread.answer(no)).text == "not approved"


@pytest.mark.parametrize("wrong", ["rm -rf /", {"type": "diff"}, 5])
async def test_what_is_no_preview_is_shown_to_nobody(wrong: Any) -> None:
    outcome = await Thread(writing(lambda args: wrong)).go()
    assert outcome.text == "not shown: AgentMistake;"


@pytest.mark.parametrize("was", [Made(), None], ids=["had one", "had none"])
async def test_an_agent_whose_tool_gets_or_loses_its_preview_meanwhile_goes_on(was: Any) -> None:
    later = Made() if was is None else None
    thread = Thread(writing(was))
    await thread.go()
    thread.make = writing(later)
    await thread.answer(yes)
    assert (await thread.answer(yes)).text == "approved"
    assert later is None or later.of == []
