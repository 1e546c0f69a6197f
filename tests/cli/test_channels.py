"""`agui-bridge channels`: a channel is tried for real; what was not delivered is listed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from click.testing import CliRunner, Result
from standardwebhooks import Webhook as Verifier

from agui_bridge.channels import Webhook
from agui_bridge.cli import app
from agui_bridge.engine.input.settings import Settings
from agui_bridge.stores.open import open_store
from tests.channels.bridges import SECRET, bridge_with
from tests.channels.receivers import Mailbox, Receiver
from tests.processes.conftest import STORES
from tests.support.ports import free_port
from tests.support.server import post, run_input, serve
from tests.support.waiting import eventually

FILE = """
store: sqlite:///never.db
inbox: {url: https://agents.example}
channels:
  hook: {type: webhook, url_env: A_HOOK, secret_env: A_SECRET}
  teams: {type: teams, url_env: A_HOOK}
agents: {one: {function: agents_of_the_channels_test:one}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agents_of_the_channels_test.py").write_text("async def one(run):\n    yield 'x'\n")
    path = tmp_path / "bridge.yaml"
    path.write_text(FILE)
    return str(path)


async def invoke(*args: str, **environment: str) -> Result:
    def run() -> Result:
        return CliRunner().invoke(
            app, ["channels", *args], prog_name="agui-bridge", env=environment
        )

    # It has an event loop of its own, and whom it calls is served by this one.
    return await asyncio.to_thread(run)


async def test_a_channel_takes_a_test_notice_and_nothing_is_stored(
    file: str, tmp_path: Path
) -> None:
    async with Receiver().serving() as receiver:
        given = {"A_HOOK": receiver.url, "A_SECRET": SECRET}
        hook = await invoke("test", "hook", file, **given)
        again = await invoke("test", "hook", file, **given)
        teams = await invoke("test", "teams", file, **given)
    first, second = (Verifier(SECRET).verify(body, headers) for headers, body in receiver.got[:2])

    assert hook.stdout == "The channel hook took the test notice.\n"
    assert teams.stdout == "The channel teams took the test notice.\n"
    assert (hook.exit_code, again.exit_code, teams.exit_code) == (0, 0, 0)
    assert first["type"] == second["type"] == "interrupt.test"
    assert first["data"]["message"] == "This is a test. Nothing waits for an answer."
    assert receiver.got[0][0]["webhook-id"] != receiver.got[1][0]["webhook-id"]
    assert b"Test: " in receiver.got[2][1]
    assert not (tmp_path / "never.db").exists()


async def test_everybody_whom_a_channel_mails_gets_the_test_whatever_their_scope(
    file: str, tmp_path: Path
) -> None:
    people = (
        "{ann: {address: ann@x.example, scopes: [a]}, bob: {address: bob@x.example, scopes: [b]}}"
    )
    mail = f"{{type: smtp, scopes: [a, b], url_env: A_SERVER, sender: x@x.example, to: {people}}}"
    text = FILE.replace("  hook:", f"  mail: {mail}\n  hook:")
    (tmp_path / "bridge.yaml").write_text(text)
    mailbox, port = Mailbox(), free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        given = {"A_HOOK": "http://127.0.0.1:9/", "A_SECRET": SECRET}
        server = f"smtp://127.0.0.1:{port}?starttls=never"
        told = await invoke("test", "mail", file, A_SERVER=server, **given)
    finally:
        controller.stop()

    assert told.stdout == "The channel mail took the test notice.\n"
    assert [one["To"] for one in mailbox.mails] == ["ann@x.example", "bob@x.example"]


async def test_a_notice_that_does_not_arrive_is_told_with_exit_code_and_no_secret(
    file: str,
) -> None:
    async with Receiver(answers=[(500, {})]).serving() as receiver:
        given = {"A_HOOK": receiver.url, "A_SECRET": SECRET}
        refused = await invoke("test", "hook", file, **given)
    nobody = await invoke("test", "hook", file, **given)

    assert "The channel hook took no notice: HTTP 500" in refused.stderr
    assert "The channel hook took no notice: no answer (ConnectError)" in nobody.stderr
    for result in (refused, nobody):
        assert result.exit_code != 0
        assert receiver.url not in result.output
        assert SECRET not in result.output


async def test_a_channel_that_is_not_there_is_named_with_those_that_are(file: str) -> None:
    given = {"A_HOOK": "http://127.0.0.1:9/", "A_SECRET": SECRET}
    unknown = await invoke("test", "pager", file, **given)
    unset = await invoke("test", "hook", file, A_HOOK="http://127.0.0.1:9/", A_SECRET="")

    assert "There is no channel 'pager'. Channels of" in unknown.stderr
    assert unknown.stderr.rstrip().endswith("hook, teams.")
    assert "the environment variable A_SECRET is not set" in unset.stderr
    assert unknown.exit_code != 0 and unset.exit_code != 0


@pytest.mark.parametrize("name", STORES)
async def test_deliveries_are_listed_by_state_and_scope(name: str, tmp_path: Path) -> None:
    url = STORES[name](tmp_path)
    async with Receiver(answers=[(410, {})]).serving() as receiver:
        channels = {
            "hook": Webhook(receiver.url, SECRET),
            "other": Webhook(receiver.url, SECRET, by_default=False),
        }
        bridge, _ = bridge_with(channels, store=url, settings=Settings(sweep_interval=0.05))
        async with serve(bridge.app(anonymous=True)) as base:
            await post(base, "ops", **run_input())

            async def dead() -> bool:
                store = (await bridge.open()).store
                return bool(await store.deliveries.list_deliveries("default", state="dead"))

            await eventually(dead)
    place = ("--store", url)
    listed, dead_ones = (
        await invoke("deliveries", *place),
        await invoke("deliveries", *place, "--state", "dead"),
    )
    sent = await invoke("deliveries", *place, "--state", "sent")
    others = await invoke("deliveries", *place, "--scope", "other")
    file = tmp_path / "bridge.yaml"
    file.write_text(f"store: {url}\nagents: {{ops: {{function: nowhere:ops}}}}\n")
    of_the_file = await invoke("deliveries", str(file))
    [line] = listed.stdout.splitlines()

    assert line.split()[:5] == ["dead", "hook", "opened", "tries", "1"]
    assert "ops/t" in line and line.endswith(":hook:opened  HTTP 410")
    assert dead_ones.stdout == listed.stdout
    assert sent.stdout == "There are no sent notices in the scope default.\n"
    assert others.stdout == (
        "There are no notices in the scope other. Others have some: --scope default.\n"
    )
    assert of_the_file.stdout == listed.stdout
    assert receiver.url not in listed.stdout


async def test_a_state_that_is_none_is_refused(tmp_path: Path) -> None:
    url = STORES["sqlite"](tmp_path)
    await (await open_store(url)).aclose()
    wrong = await invoke("deliveries", "--store", url, "--state", "lost")

    assert wrong.exit_code == 2
    assert "'lost' is not one of" in wrong.stderr


async def test_deliveries_of_no_store_or_of_memory_say_what_to_name() -> None:
    nowhere = await invoke("deliveries", AGUI_BRIDGE_STORE="")
    memory = await invoke("deliveries", "--store", "memory:")

    assert (nowhere.exit_code, memory.exit_code) == (2, 2)
    assert "Say which store: name the configuration file" in nowhere.stderr
    assert "only the server itself can see" in memory.stderr
