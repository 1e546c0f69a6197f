"""No question is lost over its schema: it is asked, and its answer checked as far as can be.

Schemas that zod, valibot and pydantic really emit: tests/golden/response_schemas.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel

from agui_bridge.adapters import Ask, Pause
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT, Answer
from tests.support.agents import Answering, Bench, Scripted, approval, outcome

EMITTED: Final = Path(__file__).parents[2] / "golden" / "response_schemas"
REMOTE: Final = {"type": "object", "properties": {"x": {"$ref": "https://example.com/schema"}}}
TREE: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#"}}},
    "required": ["name"],
    "additionalProperties": False,
}


def emitted() -> list[dict[str, Any]]:
    files = (EMITTED / "javascript.json", EMITTED / "python.json")
    return [case for file in files for case in json.loads(file.read_text(encoding="utf-8"))]


def name_of(case: dict[str, Any]) -> str:
    return f"{case['library'].split(',')[0]} {case['source']}"[:70]


class Asking:
    """A bench whose function asks one question and keeps what it gets."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.got: list[Any] = []

        async def agent(run: FunctionRun) -> None:
            self.got.append(await run.ask("Well?", schema=schema))

        self.bench = Bench(FunctionAdapter(agent))

    async def asked(self) -> dict[str, Any]:
        (interrupt,) = await self.bench.ask()
        return interrupt

    async def answer(self, interrupt: Mapping[str, Any], payload: Any) -> str:
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
        return outcome(await self.bench.say(resume=[entry]))


@pytest.mark.parametrize("case", emitted(), ids=name_of)
async def test_a_schema_that_a_library_emits_is_asked_shown_and_checked(
    case: dict[str, Any],
) -> None:
    asking = Asking(case["schema"])

    interrupt = await asking.asked()

    assert interrupt["responseSchema"] == case["schema"]
    if "wrong" in case:
        assert await asking.answer(interrupt, case["wrong"]) == "INVALID_RESUME_PAYLOAD"
        assert asking.got == []
    assert await asking.answer(interrupt, case["right"]) == "success"
    assert asking.got == [case["right"]]


def test_the_emitted_schemas_are_many_of_each_library_and_nearly_all_have_a_wrong_answer() -> None:
    cases = emitted()
    libraries = Counter(case["library"].split(" ")[0] for case in cases)

    assert libraries["zod"] > 100
    assert libraries["valibot"] > 15
    assert libraries["pydantic"] > 15
    unchecked = {case["source"] for case in cases if "wrong" not in case}
    assert len(unchecked) < 12, unchecked


async def test_what_is_not_checked_stands_in_the_metadata_beside_what_the_agent_says() -> None:
    schema = {"properties": {"code": {"type": "string", "pattern": r"^(\w)\1$"}}}
    metadata = {"mine": 1, "agui_bridge": {"kept": True}}
    asks = [Ask("n", response_schema=schema, metadata=metadata)]

    (interrupt,) = await Bench(Scripted([Pause(asks)])).ask()

    assert interrupt["metadata"] == {
        "mine": 1,
        "agui_bridge": {
            "kept": True,
            "unchecked": [
                r"/properties/code: `pattern` '^(\\w)\\1$' is in part only checked.",
            ],
        },
    }


async def test_a_question_whose_schema_is_checked_whole_has_no_metadata() -> None:
    (interrupt,) = await Bench(Scripted([Pause([Ask("n", response_schema=TREE)])])).ask()

    assert "metadata" not in interrupt


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"const": float("nan")}, {"const": None}),
        ({"title": "a\x00\ud800"}, {"title": "a\ufffd\ufffd"}),
        ({1: 2}, {"1": 2}),
    ],
    ids=["no number", "no text", "no name"],
)
async def test_a_schema_that_is_no_json_is_asked_as_what_can_be_written_of_it(
    schema: dict[str, Any], shown: dict[str, Any]
) -> None:
    (interrupt,) = await Bench(Scripted([Pause([Ask("n", response_schema=schema)])])).ask()

    assert interrupt["responseSchema"] == shown


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (REMOTE, "'https://example.com/schema' is refused"),
        ({"type": "strange"}, "is invalid"),
        ({"enum": list(range(20_000))}, "expands to over 10000 values"),
        ({"properties": 1}, "is invalid"),
    ],
)
async def test_a_schema_that_could_do_harm_is_not_shown_and_the_question_is_asked(
    schema: dict[str, Any], reason: str
) -> None:
    def resumed(run: Any) -> Any:
        decisions.append(run.resume.decisions["n"])
        return _done()

    decisions: list[Any] = []
    bench = Bench(Scripted([Pause([Ask("n", message="Well?", response_schema=schema)])], resumed))

    (interrupt,) = await bench.ask()

    assert "responseSchema" not in interrupt
    (said,) = interrupt["metadata"]["agui_bridge"]["unchecked"]
    assert reason in said
    assert said.endswith("It is not checked.")
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"a": 1}}
    assert outcome(await bench.say(resume=[entry])) == "success"
    assert decisions == [Answer({"a": 1})]


async def _done() -> Any:
    yield "done"


@pytest.mark.parametrize(
    "members",
    [{"parameters": REMOTE}, {"parameters": REMOTE, "allowed": (APPROVE, DECLINE, EDIT)}],
)
async def test_an_approval_whose_parameters_could_do_harm_is_asked_without_edits(
    members: dict[str, Any],
) -> None:
    agent = Answering(approval(**members), edit=True)
    bench = Bench(agent)

    (interrupt,) = await bench.ask()

    assert "editedArgs" not in interrupt["responseSchema"]["properties"]
    assert interrupt["metadata"]["agui_bridge"]["unchecked"] == [
        "The response schema's reference 'https://example.com/schema' is refused: only pointers "
        'into the schema itself ("#", "#/$defs/…") are followed. It is not checked.',
        "The arguments can't be edited.",
    ]
    edited = {"approved": True, "editedArgs": {"to": "evil"}}
    assert outcome(await bench.say(resume=bench.entries([interrupt], edited))) == (
        "INVALID_RESUME_PAYLOAD"
    )
    assert agent.executed == []
    assert outcome(await bench.say(resume=bench.entries([interrupt]))) == "success"
    assert agent.executed == [("c1", {"to": "c1"})]


async def test_an_approval_whose_own_schema_could_do_harm_still_wants_a_boolean() -> None:
    every = (APPROVE, DECLINE, EDIT)
    agent = Answering(approval(response_schema=REMOTE, allowed=every), edit=True)
    bench = Bench(agent)

    (interrupt,) = await bench.ask()

    assert "editedArgs" not in interrupt["responseSchema"]["properties"]
    assert interrupt["responseSchema"]["required"] == ["approved"]
    refused = await bench.say(resume=bench.entries([interrupt], {"approved": "true"}))
    assert outcome(refused) == "INVALID_RESUME_PAYLOAD"
    assert outcome(await bench.say(resume=bench.entries([interrupt]))) == "success"
    assert len(agent.executed) == 1


class Node(BaseModel):
    name: str
    children: list[Node] = []


def of_a_function(root: Node) -> str:
    return root.name


PARAMETERS: Final[dict[str, tuple[dict[str, Any], Any, Any]]] = {
    "zod": (
        {"parameters": TREE},
        {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]},
        {"name": "a", "children": [{"name": "b", "children": [{"name": 1}]}]},
    ),
    "a model": (
        {"parameters": Node},
        {"name": "a", "children": [{"name": "b"}]},
        {"name": "a", "children": [{"name": "b", "children": [{}]}]},
    ),
    "a signature": (
        {"fn": of_a_function},
        {"root": {"name": "a", "children": [{"name": "b"}]}},
        {"root": {"name": "a", "children": [{"name": 2}]}},
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
async def test_recursive_arguments_are_edited_and_checked_at_every_level(name: str) -> None:
    source, right, wrong = PARAMETERS[name]
    executed: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        proposed = {"root": {"name": "x"}} if "fn" in source else {"name": "x"}
        approved = await run.approve("plant", proposed, **source)
        if approved.approved:
            await run.tool(approved, lambda **args: executed.append(args))

    bench = Bench(FunctionAdapter(agent))
    (interrupt,) = await bench.ask()
    assert "metadata" not in interrupt

    refused = bench.entries([interrupt], {"approved": True, "editedArgs": wrong})
    assert outcome(await bench.say(resume=refused)) == "INVALID_RESUME_PAYLOAD"
    assert executed == []
    approved = bench.entries([interrupt], {"approved": True, "editedArgs": right})
    assert outcome(await bench.say(resume=approved)) == "success"
    assert executed == [right]
