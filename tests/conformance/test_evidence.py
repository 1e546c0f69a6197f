"""What stands beside a failure: the requests and events in question, short enough to read."""

from __future__ import annotations

from agui_bridge.conformance import CHECKS
from agui_bridge.conformance.exchange import Answer, last_exchanges, shortened
from tests.conformance.judged import judge


async def test_a_replay_that_executes_shows_both_requests_and_both_answers() -> None:
    chosen = [check for check in CHECKS if check.id == "replay.once"]
    (result,) = (await judge("replay-executes", checks=chosen)).values()

    assert [line.partition(" ")[0] for line in result.evidence] == ["sent", "came"] * 2
    asked, _, again, ended = result.evidence
    assert asked == again
    assert '"status": "resolved"' in asked
    assert '"outcome": {"type": "success"}' in ended


async def test_a_fault_of_order_shows_the_event_and_the_one_before_it() -> None:
    chosen = [check for check in CHECKS if check.id == "stream.order"]
    (result,) = (await judge("unclosed-text", checks=chosen)).values()

    assert result.status == "fail"
    assert [line.split()[0] for line in result.evidence] == ["event", "event"]
    assert '"type": "RUN_FINISHED"' in result.evidence[1]


async def test_a_question_that_names_no_call_is_shown_beside_the_call() -> None:
    chosen = [check for check in CHECKS if check.id == "pause.tool-bound"]
    (result,) = (await judge("unbound", checks=chosen)).values()

    interrupt, call = result.evidence
    assert '"reason": "flow:feedback"' in interrupt
    assert '"type": "TOOL_CALL_START"' in call


def test_long_texts_lists_and_lines_are_cut_and_say_so() -> None:
    assert shortened("event", {"delta": "x" * 100}) == f'event {{"delta": "{"x" * 80}…"}}'
    assert shortened("event", {"a": [1, 2, 3, 4, 5]}).endswith('[1, 2, 3, "… 2 more"]}')
    many = shortened("event", {str(n): "x" * 70 for n in range(9)})
    assert (len(many), many[-1]) == (301, "…")


def test_an_endpoint_that_gave_nothing_is_told_so() -> None:
    assert last_exchanges([]) == ()
    silent = Answer({"threadId": "t", "messages": []}, broken="the connection broke")
    assert last_exchanges([silent])[1:] == ("came nothing", "then the connection broke")
    refused = Answer({"threadId": "t", "resume": []}, status=422)
    refused.feed(b"no such interrupt")
    assert last_exchanges([refused]) == ('sent {"resume": []}', 'came HTTP 422 "no such interrupt"')
