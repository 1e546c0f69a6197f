"""Claude Code behind bridges as processes on one store, and a bridge whose Claude Code dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from agui_bridge import Bridge
from agui_bridge.testing import talk
from tests.adapters.claude.coder import Coder
from tests.adapters.mail_processes import MailProcesses
from tests.support.examples import few_or_many
from tests.support.mails import MailServer

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

YES = {"approved": True}


class TestProcesses(MailProcesses):
    example = "tests.adapters.claude.server"

    @few_or_many(2, 6)
    def test_of_the_same_answer_in_two_processes_at_once_one_executes(
        self, start: Callable[..., MailServer], examples: int
    ) -> None:
        # Fewer than of other frameworks: each round starts Claude Code twice.
        super().test_of_the_same_answer_in_two_processes_at_once_one_executes(start, examples)


def processes_of_claude_code() -> list[int]:
    """Those that this process has begun."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = status.read_text().rpartition(") ")
            program = status.with_name("cmdline").read_bytes().split(b"\0")[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(rest.split()[1]) == os.getpid() and program.endswith(b"claude"):
            found.append(int(status.parent.name))
    return found


async def test_while_a_question_is_open_no_process_waits(coder: Coder) -> None:
    bridge = Bridge("memory:")
    bridge.add("coder", coder.adapter())
    async with talk(bridge, "coder", patience=100) as one:
        assert (await one.say("send bob")).ending == "interrupt"
        assert processes_of_claude_code() == []


async def test_an_answer_whose_claude_code_is_killed_is_unknown_and_not_carried_out_again(
    coder: Coder,
) -> None:
    bridge = Bridge("memory:")
    bridge.add("coder", coder.adapter(approve=["mcp__mail__wait"]))
    async with talk(bridge, "coder", patience=100) as one:
        asked = await one.say("wait")
        stream = one.begin(resume=asked.entries(YES))
        await coder.begun.wait()
        for process in processes_of_claude_code():
            os.kill(process, signal.SIGKILL)
        assert (await stream.rest()).ending == "RUN_INDETERMINATE"
        coder.finish.set()
        assert (await one.answer(asked, YES)).ending == "RUN_INDETERMINATE"
        told = await one.say("hello")
        assert told.ending == "success"
    assert len(coder.executed) <= 1
