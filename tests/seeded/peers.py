"""Faults of what stands around a bridge: clients, kits that judge, telemetry, other frameworks."""

from __future__ import annotations

from typing import Final

from tests.seeded.fault import Fault

__all__ = ["PEERS"]

PEERS: Final = (
    Fault(
        id="client-ignores-failures",
        broken="The client takes a run that failed for one that ended.",
        file="agui_bridge/client/client.py",
        before='RunEnd("error", usage=usage, error=failed)',
        after='RunEnd("error", usage=usage)',
        tests="tests/client/test_client.py",
    ),
    Fault(
        id="conformance-check-passes-all",
        broken="The check that an answer sent again executes nothing passes every server.",
        file="agui_bridge/conformance/checks/repeating.py",
        before='    await thread.answer("approve")\n    await thread.expect_one_execution()\n',
        after='    await thread.expect_one_execution()\n    await thread.answer("approve")\n',
        tests="tests/conformance/test_mutants.py::"
        "test_a_flaw_is_noticed_by_its_checks[replay-executes]",
    ),
    Fault(
        id="kit-check-passes-all",
        broken="The check that an adapter without its lease does nothing passes every adapter.",
        file="agui_bridge/testing/checks/once.py",
        before='expect(not done, f"without the lease',
        after='expect(done is not None, f"without the lease',
        tests="tests/testing/test_checks.py::test_a_mutant_fails_the_check_that_it_is_for[lease]",
    ),
    Fault(
        id="span-never-ended",
        broken="The span of an input is never ended, so that no backend ever sees it.",
        file="agui_bridge/otel/telemetry.py",
        before="        finish(self._span)\n",
        after="",
        tests="tests/otel/test_spans.py",
    ),
    Fault(
        id="mastra-answered-twice",
        broken="Answers of which Mastra has taken some may all be sent again.",
        file="adapters/agui_bridge_mastra/requests.py",
        before="return error if first else UpstreamError(_PARTLY)",
        after="return error",
        tests="tests/adapters/mastra/test_faults.py",
    ),
    Fault(
        id="breakpoint-approves-nothing",
        broken="A LangGraph breakpoint before tools is asked about as if no call waited.",
        file="adapters/agui_bridge_langgraph/pauses.py",
        before="        if not own:\n            self._asks",
        after="        if own or not own:\n            self._asks",
        tests="tests/adapters/langgraph/test_breakpoints.py",
    ),
    Fault(
        id="proxy-drops-result",
        broken="The result that an upstream AG-UI agent reports with its run's end is lost.",
        file="adapters/agui_bridge_agui/reader.py",
        before="        self._run.result = event.result\n",
        after="",
        tests="tests/adapters/agui/test_odd_streams.py::"
        "test_the_result_and_the_usage_of_the_run_are_passed_on",
    ),
    Fault(
        id="superagent-loses-pieces",
        broken="Of a question that comes in several tokens only the last is read.",
        file="adapters/agui_bridge_superagent/reader.py",
        before="self._control += token",
        after="self._control = token",
        tests="tests/adapters/superagent/test_odd_streams.py",
    ),
    Fault(
        id="nexau-not-stopped",
        broken="A graceful stop is not passed on to NexAU, whose run goes on.",
        file="adapters/agui_bridge_nexau/turn.py",
        before="        await self._exchange.stop(force=stop.force, timeout=timeout)\n",
        after="        if stop.force:\n"
        "            await self._exchange.stop(force=True, timeout=timeout)\n",
        tests="tests/adapters/nexau/test_stopping.py",
    ),
)
