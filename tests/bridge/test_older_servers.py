"""An older version beside a new one is told of: in readiness, in the log, and by `check`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agui_bridge import Bridge, __version__
from agui_bridge.cli import app
from agui_bridge.engine.presence import ALIVE_SECONDS, BEAT_SECONDS, Presence
from agui_bridge.protocol.threads.records import RECORD_FORMAT
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store
from agui_bridge.stores.servers import Server
from tests.stores.conftest import BACKENDS, COMPARED, Backend
from tests.stores.older_version import writing_as_before
from tests.stores.samples import OTHER, ask, idle, interrupted, put
from tests.support.agents import Scripted
from tests.support.clock import FakeClock
from tests.support.own_modules import importing_own
from tests.support.server import client, serve
from tests.support.waiting import eventually

OLD = "0.0.9"
REMEDY = "It may let people answer whom newer rules forbid: replace it (docs/upgrading.md)."
NOTED = f"A server of agui-bridge {OLD} works on this store, beside version {__version__}. {REMEDY}"
SILENT = (
    "A server of an older agui-bridge, which does not tell its version, has written to this store "
    f"since a server of version {__version__} runs. {REMEDY}"
)


async def nobody(store: Store) -> None:
    """Nothing is beside."""


async def noted(store: Store) -> None:
    """A version that notes itself is beside."""
    await store.servers.note(Server("old", OLD, RECORD_FORMAT - 1))


async def noted_newer(store: Store) -> None:
    """A newer version is beside."""
    await store.servers.note(Server("new", "9.0.0", RECORD_FORMAT + 1))


async def asks(store: Store) -> None:
    """A version from before asks a question."""
    with writing_as_before():
        await put(store, interrupted(), interrupts=(ask("i1"),))


async def ends(store: Store) -> None:
    """A version from before ends a run."""
    with writing_as_before():
        await put(store, idle())


async def writes_as_this_one(store: Store) -> None:
    """This version ends a run."""
    await put(store, idle())


Beside = Callable[[Store], Coroutine[Any, Any, None]]
TABLE = [
    pytest.param(beside, told, id=beside.__name__)
    for beside, told in (
        (nobody, ()),
        (noted_newer, ()),
        (writes_as_this_one, ()),
        (noted, (NOTED,)),
        (asks, (SILENT,)),
        (ends, (SILENT,)),
    )
]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.parametrize(("beside", "told"), TABLE)
async def test_an_older_version_is_told_of_once_until_it_is_gone(
    backend: Backend,
    tmp_path: Path,
    beside: Beside,
    told: tuple[str, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "agui_bridge")
    clock = FakeClock()
    store = await backend.open(backend.url(tmp_path) if backend.url else "", clock)
    before, own = Presence(store, clock, "before", ()), Presence(store, clock, "own", ())
    # What was written before it started may be of the version that it replaces.
    with writing_as_before():
        await put(store, idle(OTHER))
    clock.advance(1)
    assert await own.known() == ()
    clock.advance(1)
    await beside(store)
    own.start()
    seen = []
    for _ in range(30):
        await eventually(lambda: clock.sleepers == 1)
        seen.append(own.older)
        clock.advance(BEAT_SECONDS)
    await eventually(lambda: clock.sleepers == 1)
    assert await before.known() == ()
    await own.aclose()
    left = (await store.servers.look()).noted
    await store.aclose()

    assert seen[:3] == [told] * 3
    assert seen[-1] == ()
    lines = [one.getMessage() for one in caplog.records if one.name == "agui_bridge"]
    assert [line for line in lines if "replace it" in line] == list(told)
    assert len([line for line in lines if "no older version" in line]) == len(told)
    assert "own" not in {one.id for one in left}


def test_a_server_that_is_killed_is_gone_after_three_beats() -> None:
    assert ALIVE_SECONDS > 3 * BEAT_SECONDS


async def test_readiness_has_the_warning_and_is_as_ever_without() -> None:
    store = await BACKENDS[0].open("", FakeClock())
    bodies = []
    for beside in (nobody, noted):
        await beside(store)
        bridge = Bridge(store)
        bridge.add("agent", Scripted(["x"]))
        async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
            answer = await http.get("/readyz")
        assert answer.status_code == 200
        bodies.append(answer.json())

    assert bodies == [{"status": "ok"}, {"status": "ok", "warnings": [NOTED]}]


async def test_a_store_that_takes_no_note_keeps_nobody_from_serving(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await BACKENDS[0].open("", FakeClock())

    async def refused(_: Server) -> None:
        raise PermissionError("agui_servers")

    monkeypatch.setattr(store.servers, "note", refused)
    bridge = Bridge(store)
    bridge.add("agent", Scripted(["x"]))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        for _ in range(2):
            answer = await http.get("/readyz")
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert len([one for one in caplog.records if "could not note itself" in one.message]) == 1


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A configuration file in a folder of its own, with an agent."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "told_agents.py").write_text('async def ops(run):\n    yield "Done."\n')
    with importing_own("told_agents"):
        yield tmp_path / "bridge.yaml"


@pytest.mark.parametrize("backend", COMPARED, ids=lambda backend: backend.name)
@pytest.mark.parametrize(("beside", "told"), TABLE)
def test_check_says_which_servers_run_and_warns(
    backend: Backend, beside: Beside, told: tuple[str, ...], tmp_path: Path, file: Path
) -> None:
    assert backend.url is not None
    url = backend.url(tmp_path)
    file.write_text(f"store: {url}\nagents: {{ops: {{function: 'told_agents:ops'}}}}\n")

    async def before() -> None:
        store = await open_store(url)
        await store.servers.note(Server("own", __version__, RECORD_FORMAT))
        await beside(store)
        await store.aclose()

    asyncio.run(before())
    result = CliRunner().invoke(app, ["check", "bridge.yaml"], prog_name="agui-bridge")

    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line for line in lines if "replace it" in line] == list(told)
    others: dict[Beside, list[str]] = {noted: [OLD], noted_newer: ["9.0.0"]}
    versions = [__version__, *others.get(beside, [])]
    assert (
        f"Servers that run: {', '.join(f'1 of version {one}' for one in sorted(versions))}."
        in lines
    )
