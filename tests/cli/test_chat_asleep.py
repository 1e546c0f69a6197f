"""The terminal chat with a run that sleeps: nothing wakes it but who says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import terminal
from tests.support.target import Target
from tests.support.waiting import wait_until

SLEEPS = "[w]ake it now, [c]ancel its sleep, /quit: leave it > "


@pytest.mark.timeout(240)
def test_a_run_that_sleeps_is_left_asleep_woken_or_its_sleep_cancelled(tmp_path: Path) -> None:
    with Target(tmp_path, module="tests.processes.sleeping_target") as target:
        url = f"http://127.0.0.1:{target.port}"
        with terminal("chat", url, "--thread", "t") as chat:
            chat.answer("you > ", "3600 one")
            chat.wait_for("The run sleeps until")
            chat.wait_for(SLEEPS)
            chat.type("hello")
            chat.wait_for("Nothing was sent.")
            chat.answer(SLEEPS, "/quit")
            assert chat.end() == 0
        assert target.effects == []
        with terminal("chat", url, "--thread", "t") as chat:
            chat.answer(SLEEPS, "w")
            chat.wait_for("Woken: early.")
            chat.answer("you > ", "3600 two")
            chat.answer(SLEEPS, "c")
            chat.wait_for("Woken: cancelled.")
            chat.answer("you > ", "/quit")
            assert chat.end() == 0
        wait_until(lambda: len(target.effects) == 2)
        assert [done["woken"] for done in target.effects] == ["early", "cancelled"]
