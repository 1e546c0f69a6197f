"""Every check passes on a correct server, and fails on one that breaks its promise alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from agui_bridge.conformance import CHECKS, Result
from tests.conformance.judged import judge
from tests.conformance.mutants import MUTANTS, Mutant

pytestmark = [pytest.mark.soak, pytest.mark.timeout(120)]

Judged = Mapping[str, Mapping[str, Result]]
AT_ONCE = 8
WRONG = ("fail", "blocked")


@pytest.fixture(scope="module")
async def noticed() -> Judged:
    """The results of every faulty server, of those checks that must notice it."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def run(name: str, mutant: Mutant) -> Mapping[str, Result]:
        async with slots:
            wanted = mutant.fails.split()
            return await judge(name, checks=[check for check in CHECKS if check.id in wanted])

    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(run(name, mutant)) for name, mutant in MUTANTS.items()}
    return {name: task.result() for name, task in tasks.items()}


async def test_a_correct_server_passes_every_check() -> None:
    results = (await judge()).values()

    assert [f"{r.check.id}: {r.status}, {r.detail}" for r in results if r.status != "pass"] == []


async def test_a_server_of_1_1_that_announces_no_subagents_is_as_correct_with_a_note() -> None:
    streams = [check for check in CHECKS if check.id.startswith("stream.")]
    results = await judge("speaks-1.1", "unannounced-subagents", checks=streams)

    wrong = [f"{id}: {r.status}, {r.detail}" for id, r in results.items() if r.status != "pass"]
    assert wrong == []
    (note,) = results["stream.order"].notes
    assert "'unannounced' is named without SUBAGENT_STARTED" in note


STREAMS = [
    c for c in CHECKS if c.id in {f"stream.{n}" for n in ("framing", "types", "order", "ids")}
]


@pytest.mark.parametrize(
    ("flaw", "check"),
    [
        ("crlf", "stream.framing"),
        ("null-members", "stream.types"),
        ("unclosed-text", "stream.order"),
        ("own-run-id", "stream.ids"),
    ],
)
async def test_streams_of_a_server_that_raises_no_interrupt_are_judged(
    flaw: str, check: str
) -> None:
    right = await judge("asks-by-custom", checks=STREAMS)
    wrong = await judge("asks-by-custom", flaw, checks=STREAMS)

    assert [result.status for result in right.values()] == ["pass"] * len(STREAMS)
    for result in right.values():
        assert result.notes == ("judged without a question, since prompts.approval raised none",)
    assert {id for id, result in wrong.items() if result.status != "pass"} == {check}


async def test_a_question_as_a_custom_event_is_named_with_the_switch_of_its_framework() -> None:
    told = await judge("asks-by-custom", checks=[c for c in CHECKS if c.id.startswith("pause.")])

    for id in ("pause.outcome", "pause.schema"):
        assert "CUSTOM on_interrupt came instead" in told[id].detail
        assert "LangGraphAgent(emit_interrupt_outcome=True)" in told[id].detail


async def test_a_flow_that_asks_without_tool_calls_is_as_correct() -> None:
    results = await judge("flow")

    wrong = [f"{r.check.id}: {r.detail}" for r in results.values() if r.status in WRONG]
    assert wrong == []
    skipped = {id for id, result in results.items() if result.status == "skip"}
    assert skipped == {
        "pause.tool-bound", "answer.result", "answer.no-restart", "parallel.one-declined",
        "memory.forged-arguments",
    }  # fmt: skip


async def test_garbage_that_no_schema_forbids_is_no_garbage_and_the_note_says_so() -> None:
    (check,) = (check for check in CHECKS if check.id == "refuse.garbage-approval")
    (result,) = (await judge("no-schema", checks=[check])).values()

    assert result.status == "pass", result.detail
    assert "no responseSchema" in result.notes[0]


@pytest.mark.parametrize("name", MUTANTS)
async def test_a_flaw_is_noticed_by_its_checks(name: str, noticed: Judged) -> None:
    results = noticed[name].values()

    assert [f"{r.check.id}: {r.status}, {r.detail}" for r in results if r.status != "fail"] == []


@pytest.mark.soak
@pytest.mark.parametrize("name", MUTANTS)
async def test_a_flaw_is_noticed_by_its_checks_and_by_no_other(name: str) -> None:
    mutant = MUTANTS[name]
    results = await judge(name)

    failed = {id for id, result in results.items() if result.status == "fail"}
    not_passed = {id: r.detail for id, r in results.items() if r.status != "pass"}

    wanted, tolerated = set(mutant.fails.split()), set(mutant.also.split())
    assert wanted <= failed, f"not noticed; failed or blocked: {not_passed}"
    assert set(not_passed) - wanted - tolerated == set(), f"noticed by others: {not_passed}"


def test_every_check_has_a_mutant() -> None:
    proven = {check for mutant in MUTANTS.values() for check in mutant.fails.split()}

    assert {check.id for check in CHECKS} - proven == set()
    assert proven - {check.id for check in CHECKS} == set()


def test_every_check_says_what_where_and_how() -> None:
    ids = [check.id for check in CHECKS]

    assert len(set(ids)) == len(ids)
    for check in CHECKS:
        for text in (check.sentence, check.fix):
            assert text[0].isupper() and text.endswith("."), check.id
        assert check.source, check.id
