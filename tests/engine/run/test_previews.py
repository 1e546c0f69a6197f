"""A question's preview is stored with it, and one that is cut lets nobody approve."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.decisions import CUT_PREVIEW
from agui_bridge.protocol.previews import CommandPreview, DiffPreview, Preview
from agui_bridge.protocol.threads.records import ToolCall
from tests.support.agents import Bench, Scripted, outcome

PARAMETERS = {"type": "object"}
WHOLE = CommandPreview("rm -rf build", "/srv/app")
CUT = CommandPreview("rm -rf build", "/srv/app", is_cut=True)


def pausing(preview: Preview | None, **fields: Any) -> Scripted:
    call = ToolCall("c", "run", {"command": "rm"})
    ask = Ask("n", "tool_call", tool_call=call, parameters=PARAMETERS, preview=preview, **fields)
    return Scripted([Pause([ask])], ["done"], edit=True)


async def asked(bench: Bench) -> dict[str, Any]:
    [shown] = await bench.ask()
    return shown


async def answered(bench: Bench, shown: dict[str, Any], payload: Any) -> list[dict[str, Any]]:
    return await bench.say(resume=bench.entries([shown], payload))


async def test_a_preview_is_told_and_told_again_as_it_was_asked() -> None:
    forged = {"note": 1, "agui_bridge": {"preview": {"type": "diff"}, "unchecked": ["x"]}}
    bench = Bench(pausing(WHOLE, metadata=forged))
    shown = await asked(bench)
    assert shown["metadata"] == {
        "note": 1,
        "agui_bridge": {"unchecked": ["x"], "preview": WHOLE.to_json()},
    }
    stored = (await bench.load(shown["id"])).interrupts[shown["id"]]
    assert (stored.preview, stored.allowed) == (WHOLE, ("approve", "decline", "edit"))
    refused = await answered(bench, shown, 5)
    assert refused[-2]["outcome"]["interrupts"] == [shown]


@pytest.mark.parametrize("metadata", [{"agui_bridge": {"preview": 1}}, None, {"a": 1}])
async def test_an_agent_says_no_preview_by_its_own_metadata(metadata: Any) -> None:
    shown = await asked(Bench(pausing(None, metadata=metadata)))
    assert shown.get("metadata") == (metadata if metadata == {"a": 1} else None)


async def test_what_is_cut_can_be_declined_and_not_approved_or_edited() -> None:
    bench = Bench(pausing(CUT))
    shown = await asked(bench)
    stored = (await bench.load(shown["id"])).interrupts[shown["id"]]
    assert stored.allowed == ("decline",)
    properties = shown["responseSchema"]["properties"]
    assert properties.keys() == {"approved", "reason"}
    assert properties["approved"] == {"type": "boolean", "const": False}
    for payload in ({"approved": True}, {"approved": True, "editedArgs": {}}):
        refused = await answered(bench, shown, payload)
        assert refused[-1]["code"] == "INVALID_RESUME_PAYLOAD"
        assert CUT_PREVIEW in refused[-1]["message"]
    done = await answered(bench, shown, {"approved": False})
    assert outcome(done) == "success"


async def test_a_schema_of_its_own_lets_nobody_approve_what_is_cut() -> None:
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    bench = Bench(pausing(CUT, response_schema=schema))
    refused = await answered(bench, await asked(bench), {"approved": True})
    assert CUT_PREVIEW in refused[-1]["message"]


def test_only_what_asks_whether_a_call_may_run_has_a_preview() -> None:
    with pytest.raises(
        AgentMistake, match=r"Ask\.preview must be None where there is no Ask\.tool"
    ):
        Ask("n", preview=WHOLE)


async def test_what_no_store_takes_is_replaced_in_a_preview() -> None:
    bench = Bench(pausing(DiffPreview(["\x00x"], "@@ -0,0 +1 @@\n+\ud800\x00\n")))
    told = (await asked(bench))["metadata"]["agui_bridge"]["preview"]
    assert told["paths"] == ["\ufffdx"]
    assert told["diff"] == "@@ -0,0 +1 @@\n+\ufffd\ufffd\n"
