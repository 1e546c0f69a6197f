"""Real peers behind the bridge, as they were recorded: what is asked, sent, and told of it.

tests/servers/peers has the servers; `python -m tests.servers.peers.record` records them anew.
"""

from __future__ import annotations

import pytest

from agui_bridge.protocol.answers.unexecuted import FAILED_AMID
from agui_bridge_agui.peers import PEERS, PeerName
from tests.docs.pages import ROOT
from tests.servers.peers.peer import VARIANTS
from tests.servers.peers.record import measured_with
from tests.servers.peers.recording import RECORDINGS, Replay
from tests.servers.peers.scenario import FLOWS, IN_TURN, SCENARIOS, Told, conversation, scenarios_of
from tests.support.server import serve

ZERO, ONE = "ann-0@example.com", "ann-1@example.com"
DECLINED = "The user declined this tool call; it was not executed. Reason: too rude"
CANCELLED = "The approval was cancelled; this tool call was not executed."
MODULES: dict[PeerName, str] = {
    "adk": "adk",
    "ag2": "ag2",
    "agent-framework": "agent_framework",
    "agno": "agno",
    "crewai": "crewai",
    "langgraph": "langgraph",
    "pydantic-ai": "pydantic_ai",
    "strands": "strands",
}
IN_WORDS = ("langgraph-text",)
"""They ask about no call: a graph's text alone is a plain question."""

CALLING = [name for name in VARIANTS if scenarios_of(name) is SCENARIOS]
ALL_OR_NONE = ("agent-framework",)
"""They carry out the calls of one pause together, or none."""

FLOWING = [name for name in VARIANTS if scenarios_of(name) is FLOWS]
IN_TURNS = [name for name in VARIANTS if scenarios_of(name) is IN_TURN]
MIXING = [name for name in CALLING if name not in ALL_OR_NONE]


async def replayed(name: str) -> tuple[Told, list[str]]:
    """What a page is told by a recorded peer, and to whom that had written."""
    peer = Replay(name)
    async with serve(peer.app(), lifespan="off") as base:
        told = await conversation(name, f"{base}/agent")
    assert peer.faults == []
    assert peer.left == 0
    return told, peer.executed


def result(told: Told, address: str) -> str:
    (found,) = [content for args, content in told.results.items() if address in args]
    return found


@pytest.mark.parametrize("variant", [*CALLING, *IN_TURNS])
async def test_an_approved_call_runs_once_and_its_result_stands_in_the_history(
    variant: str,
) -> None:
    told, executed = await replayed(f"{variant}.approve")
    assert executed == [ZERO]
    assert told.endings == ["interrupt", "success", "success"]
    assert f"sent to {ZERO}" in result(told, ZERO)
    assert told.said == "You said: hello"
    if variant not in IN_WORDS:
        assert told.asks == [("tool_call", "send_email")]


@pytest.mark.parametrize("variant", CALLING)
async def test_of_two_approved_calls_both_run(variant: str) -> None:
    told, executed = await replayed(f"{variant}.both")
    assert executed == [ZERO, ONE]
    assert told.endings == ["interrupt", "success"]
    assert all(f"sent to {address}" in result(told, address) for address in (ZERO, ONE))


@pytest.mark.parametrize("variant", IN_TURNS)
async def test_of_calls_that_are_asked_about_in_turn_those_run_that_were_approved(
    variant: str,
) -> None:
    for scenario, expected in (("both", [ZERO, ONE]), ("one-declined", [ONE])):
        told, executed = await replayed(f"{variant}.{scenario}")
        assert executed == expected
        assert told.endings == ["interrupt", "interrupt", "success"]
        assert told.asks == [("tool_call", "send_email")] * 2
        assert all(f"sent to {address}" in result(told, address) for address in expected)
    assert result(told, ZERO) == DECLINED


@pytest.mark.parametrize("variant", MIXING)
async def test_beside_a_cancelled_call_the_approved_one_runs(variant: str) -> None:
    told, executed = await replayed(f"{variant}.one-cancelled")
    assert executed == [ZERO]
    assert told.endings == ["interrupt", "success", "success"]
    assert f"sent to {ZERO}" in result(told, ZERO)
    assert result(told, ONE) == ("not sent" if variant in IN_WORDS else CANCELLED)


@pytest.mark.parametrize("variant", MIXING)
async def test_beside_a_declined_call_the_approved_one_runs(variant: str) -> None:
    told, executed = await replayed(f"{variant}.one-declined")
    assert executed == [ONE]
    assert told.endings == ["interrupt", "success"]
    assert f"sent to {ONE}" in result(told, ONE)
    assert result(told, ZERO) == ("not sent" if variant in IN_WORDS else DECLINED)


@pytest.mark.parametrize("variant", CALLING)
async def test_a_tool_that_fails_is_never_told_as_executed(variant: str) -> None:
    told, executed = await replayed(f"{variant}.fails")
    assert executed == [ZERO]
    assert "sent to" not in result(told, ZERO)
    if told.endings[1] != "success":
        assert result(told, ZERO) in (FAILED_AMID, "Tool execution was interrupted by an error.")


@pytest.mark.parametrize("scenario", ["one-cancelled", "one-declined"])
@pytest.mark.parametrize("variant", ALL_OR_NONE)
async def test_where_all_run_or_none_a_mixed_answer_is_not_sent_and_all_stays_open(
    variant: str, scenario: str
) -> None:
    told, executed = await replayed(f"{variant}.{scenario}")
    assert executed == []
    assert told.endings[:2] == ["interrupt", "UPSTREAM_ERROR"]
    assert told.endings[2:] in ([], ["INTERRUPT_PENDING"])


@pytest.mark.parametrize("variant", FLOWING)
async def test_a_flows_feedback_is_given_once_and_a_cancel_never_reaches_it(variant: str) -> None:
    told, executed = await replayed(f"{variant}.feedback")
    assert executed == [ZERO]
    assert told.endings == ["interrupt", "success", "interrupt", "success", "success"]
    assert told.asks == [("crewai:human_feedback", None)] * 2
    assert told.said == "You said: hello"


def test_each_row_was_measured_on_the_version_that_is_recorded() -> None:
    for name, module in MODULES.items():
        package, _, version = measured_with(module)[0].partition("==")
        assert PEERS[name].measured == f"{package} {version}"
    (line,) = [
        line
        for line in (ROOT / "benchmarks" / "peers.txt").read_text().splitlines()
        if line.startswith("pydantic-ai")
    ]
    assert PEERS["pydantic-ai"].measured == line.replace("[ag-ui]==", " ")
    # Mastra's own package is in Node.js, and was measured by hand.
    assert set(PEERS) == {"auto", "mastra", *MODULES}


def test_no_recording_is_left_over_or_of_another_version() -> None:
    names = {f"{variant}.{scenario}" for variant in VARIANTS for scenario in scenarios_of(variant)}
    assert {path.stem for path in RECORDINGS.glob("*.json")} == names
    for name in names:
        module = VARIANTS[name.partition(".")[0]].module
        assert Replay(name).measured == measured_with(module)[0]
