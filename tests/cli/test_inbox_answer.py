"""`agui-bridge inbox answer` in a terminal: all that will run is read before it is approved."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agui_bridge import Bridge, FunctionRun, Principal
from tests.cli.terminal import NEXT_SCREEN, terminal
from tests.support.server import client, run_input, serve

LONG = {"to": "bob", "note": "word " * 2_000, "last": "eve"}


@pytest.mark.parametrize(("said", "paid"), [("y", [LONG]), ("n", [])])
async def test_an_approval_is_asked_for_behind_all_that_it_lets_run(
    said: str, paid: list[dict[str, Any]]
) -> None:
    bridge, ran = Bridge(), []

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> str:
        async def pay(**args: Any) -> None:
            ran.append(args)

        approval = await run.approve("pay", LONG)
        if approval.approved:
            await run.tool(approval, pay)
        return "over"

    def talk(url: str, ref: str) -> tuple[str, int]:
        with terminal("inbox", "answer", url, ref, "--approve") as command:
            screens = command.read_on("Approve this? [y/N]: ")
            assert all(len(screen.splitlines()) <= 50 for screen in screens)
            assert len(screens) > 2
            command.type(said)
            return "".join(screens).replace(NEXT_SCREEN, ""), command.end()

    async with serve(bridge.app(anonymous=True)) as url:
        async with client(url) as http:
            await http.post("/agents/ops", json=run_input("go"))
        [row] = (await bridge.pending(Principal())).rows
        shown, code = await asyncio.to_thread(talk, url, row.ref)
    whole = "".join(shown.split("\r")).replace("\n", "").replace("↪ ", "")
    assert whole.count("word") == 2_000
    assert '"last": "eve"' in whole
    assert (ran, code) == (paid, 0 if paid else 1)
