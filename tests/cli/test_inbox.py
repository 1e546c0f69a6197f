"""`agui-bridge inbox`: questions found, shown and answered from a terminal."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agui_bridge import FunctionRun, Settings
from agui_bridge.cli import app
from agui_bridge.client import Cancelled, HttpError, InboxClient, NotReached
from tests.http.agui.test_interrupts import by_name
from tests.inbox.office import ANN, Office
from tests.support.ports import free_port
from tests.support.server import client, run_input, serve


async def invoke(*args: str, token: str | None = "ann") -> Result:
    env = {"AGUI_BRIDGE_TOKEN": token}
    runner = CliRunner(env=env)
    return await asyncio.to_thread(runner.invoke, app, ["inbox", *args], prog_name="agui-bridge")


class Served:
    """An office with two questions, behind HTTP."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings

    async def __aenter__(self) -> tuple[str, Office]:
        office = Office(settings=self._settings)
        office.bridge.authenticate = by_name
        await office.ask()
        self._served = serve(office.bridge.app())
        return await self._served.__aenter__(), office

    async def __aexit__(self, *error: Any) -> None:
        await self._served.__aexit__(*error)


async def test_questions_are_listed_shown_and_answered() -> None:
    async with Served() as (url, office):
        listed = await invoke("list", url)
        lines = listed.stdout.splitlines()
        assert lines[0] == 'pay {"name": "pay"}'
        assert lines[1] == "  office, thread t; open; asked by ann; yours to answer"
        assert lines[-1] == "2 of 2 questions"
        refs = [lines[2].strip(), lines[5].strip()]

        shown = await invoke("show", url, refs[0])
        assert 'arguments   {"name": "pay"}' in shown.stdout
        assert "may answer  yes" in shown.stdout

        first = await invoke("answer", url, refs[0], "--approve")
        assert (first.exit_code, first.stdout) == (0, "answered\n")
        last = await invoke("answer", url, refs[1], "--decline", "--reason", "not today")
        assert (last.exit_code, last.stdout) == (0, "resolved\n")
        assert office.done == ["pay"]
        told = json.loads((await invoke("show", url, refs[1], "--json")).stdout)
        assert told["answer"]["payload"] == {"approved": False, "reason": "not today"}
        assert (await invoke("list", url)).stdout == "0 of 0 questions\n"
        assert "2 of 2" in (await invoke("list", url, "--status", "resolved")).stdout


async def test_who_answers_reads_what_the_run_gave() -> None:
    async with Served() as (url, office):

        @office.bridge.agent("count")
        async def count(run: FunctionRun) -> dict[str, str]:
            await run.confirm("Count?")
            return {"rows": "3\x1b[2J\n"}

        async with client(url) as http:
            http.headers["authorization"] = "Bearer ann"
            await http.post("/agents/count", json=run_input("go"))
        ref = (await office.bridge.pending(ANN, agent="count")).rows[0].ref
        for _ in range(2):
            told = await invoke("answer", url, ref, "--payload", '{"confirm": true}')
            assert told.stdout == 'resolved\nresult: {"rows": "3\\u001b[2J\\n"}\n'


async def test_the_list_says_until_when_each_can_be_answered() -> None:
    async with Served(Settings(expires_in=60)) as (url, _):
        about = "  office, thread t; open; asked by ann; yours to answer; until "
        line = (await invoke("list", url)).stdout.splitlines()[1]
    assert line.startswith(about)
    left = datetime.fromisoformat(line.removeprefix(about)) - datetime.now(UTC)
    assert 0 < left.total_seconds() <= 60


async def test_a_refused_answer_has_exit_code_1_and_says_why() -> None:
    async with Served() as (url, _):
        ref = json.loads((await invoke("list", url, "--json")).stdout)["interrupts"][0]["ref"]
        wrong = await invoke("answer", url, ref, "--payload", '{"approved": "yes"}')
        assert wrong.exit_code == 1
        assert wrong.stdout.startswith("refused\nINVALID_RESUME_PAYLOAD: ")
        await invoke("answer", url, ref, "--cancel", token="bob")
        late = await invoke("answer", url, ref, "--approve")
        assert late.exit_code == 1
        assert "decided already: answered, by bob (via api)" in late.stdout


async def test_pages_and_filters_are_the_servers() -> None:
    async with Served() as (url, office):
        await office.ask("t2")
        first = await invoke("list", url, "--limit", "3")
        assert "3 of 4 questions\nTo go on: add --after " in first.stdout
        cursor = first.stdout.split()[-1]
        rest = await invoke("list", url, "--after", cursor)
        assert rest.stdout.endswith("1 of 4 questions\n")
        some = await invoke("list", url, "--tool", "pay", "--thread", "t2", "--agent", "office")
        assert some.stdout.endswith("1 of 1 questions\n")
        assert (await invoke("list", url, "--mine", token="eve")).stdout == "0 of 0 questions\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "Give one of --approve"),
        (("--approve", "--decline"), "Give one of --approve"),
        (("--payload", "yes"), "--payload is no JSON"),
        (("--cancel", "--reason", "x"), "--reason goes with"),
    ],
)
async def test_an_answer_that_says_nothing_clear_is_not_sent(
    options: tuple[str, ...], told: str
) -> None:
    result = await invoke("answer", "http://127.0.0.1:1", "ref", *options)
    assert result.exit_code == 2
    assert told in result.stderr


async def test_what_fails_is_told_in_a_line() -> None:
    async with Served() as (url, _):
        unknown = await invoke("list", url, token="nobody")
        assert (unknown.exit_code, unknown.stderr) == (2, "error: Send a bearer token.\n")
        wrong = await invoke("show", url, "x")
        assert wrong.stderr.startswith("error: The reference names no question")
        elsewhere = await invoke("list", f"{url}/nowhere")
        assert elsewhere.exit_code == 2
    nobody = await invoke("list", f"http://127.0.0.1:{free_port()}")
    assert "can't be reached" in nobody.stderr
    assert "is no address" in (await invoke("list", "ftp://x")).stderr
    empty = await invoke("answer", "http://127.0.0.1:1", "", "--approve")
    assert empty.stderr.startswith("error: The reference is empty.")


@pytest.mark.parametrize("command", ["list", "show", "answer"])
async def test_help_fits_in_80_columns(command: str) -> None:
    result = await invoke(command, "--help")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80


async def test_the_clients_errors_are_those_of_clients() -> None:
    async with Served() as (url, _):
        async with InboxClient(url) as nobody:
            with pytest.raises(HttpError) as refused:
                await nobody.pending()
            assert (refused.value.status, refused.value.code) == (401, "UNAUTHENTICATED")
        headers = {"Authorization": "Bearer ann"}
        async with InboxClient(url, headers=headers) as ann:
            page = await ann.pending(tool="post", limit=1)
            taken = await ann.answer(page["interrupts"][0]["ref"], Cancelled(), wait=1)
            assert taken["status"] == "answered"
    async with InboxClient(url) as gone:
        with pytest.raises(NotReached):
            await gone.pending()
