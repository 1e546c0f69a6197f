"""`agui-bridge prune`: what is old and idle goes, on every store; what runs or waits stays."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agui_bridge import terminal
from agui_bridge.cli import app
from agui_bridge.cli.commands import prune as command
from agui_bridge.cli.options import seconds_of
from agui_bridge.protocol.grants import Grant
from agui_bridge.stores.open import open_store
from tests.processes.conftest import STORES
from tests.stores.samples import KEY, idle, interrupted, message, put, running

AGES = {"30d": 2_592_000, "2w": 1_209_600, "12h": 43_200, "90m": 5_400, "0d": 0}


def invoke(*args: str) -> Result:
    return CliRunner().invoke(app, ["prune", *args], prog_name="agui-bridge")


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store with three idle threads, one that runs and one that waits."""
    address = STORES[request.param](tmp_path)

    async def fill() -> None:
        store = await open_store(address)
        for name in ("a", "b", "c"):
            await put(store, idle(replace(KEY, thread=name)), messages=(message("m", 1),))
        await put(store, running(replace(KEY, thread="running")))
        await put(store, interrupted(replace(KEY, thread="interrupted")))
        await store.aclose()

    asyncio.run(fill())
    return address


def threads_of(url: str) -> list[str]:
    async def read() -> list[str]:
        store = await open_store(url)
        rows = await store.list_threads("scope", "agent")
        await store.aclose()
        return sorted(row.record.key.thread for row in rows)

    return asyncio.run(read())


def test_old_idle_threads_are_deleted_and_those_that_run_or_wait_stay(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_AT_ONCE", 2)

    young = invoke("--store", url, "--older-than", "1d")
    counted = invoke("--store", url, "--older-than", "0d", "--dry-run")
    assert (young.exit_code, counted.exit_code) == (0, 0), (young.output, counted.output)
    assert young.stdout.startswith("0 threads and 0 remembered decisions deleted from the store ")
    assert counted.stdout.startswith("3 threads and 0 remembered decisions would be deleted from ")
    assert len(threads_of(url)) == 5

    done = invoke("--store", url, "--older-than", "0d")
    assert done.stdout.startswith("3 threads and 0 remembered decisions deleted from the store ")
    assert threads_of(url) == ["interrupted", "running"]
    assert invoke("--store", url, "--older-than", "0d").stdout.startswith("0 threads and 0 ")


def test_remembered_decisions_that_are_over_are_deleted_and_counted(url: str) -> None:
    async def fill() -> None:
        store = await open_store(url)
        now = await store.ping()
        made = Grant(
            *("over", "scope", "agent", "pay", None, "scope", ""),
            **{"args": {}, "matchers": {}, "granted_by": "ann"},  # type: ignore[arg-type]
            created_at=now,
            expires_at=now,
        )
        await store.grants.add(made)
        await store.grants.add(replace(made, id="stands", expires_at=now + 3600.0))
        await store.aclose()

    asyncio.run(fill())
    for arguments, done in ((["--dry-run"], "would be deleted"), ([], "deleted")):
        told = invoke("--store", url, "--older-than", "0d", *arguments)
        assert told.stdout.startswith(f"3 threads and 1 remembered decision {done} from the store ")
    assert invoke("--store", url, "--older-than", "0d").stdout.startswith("0 threads and 0 ")


def test_it_works_on_the_store_of_a_configuration_file(url: str, tmp_path: Path) -> None:
    file = tmp_path / "bridge.yaml"
    file.write_text(f"store: {url}\nagents:\n  mail:\n    function: agents:mail\n")

    told = invoke(str(file), "--older-than", "0d", "--dry-run")

    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("3 threads and 0 remembered decisions would be deleted from ")


def test_what_is_deleted_is_told_in_between(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_AT_ONCE", 2)
    monkeypatch.setattr(terminal, "_SECONDS", 0.0)

    told = invoke("--store", url, "--older-than", "0d")

    assert told.stderr == "2 threads deleted so far …\n3 threads deleted so far …\n"


def test_of_memory_it_says_that_there_is_nothing() -> None:
    told = invoke("--store", "memory:", "--older-than", "0d")

    assert told.exit_code == 0
    assert told.stdout == (
        "The store memory: is empty in every new process: there is nothing to delete.\n"
    )


@pytest.mark.parametrize(("text", "seconds"), AGES.items())
def test_an_age_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("age", ["", "30", "-1d", "1y", "d", "1.5d", "٣d"])
def test_another_age_is_refused_with_what_to_write(age: str) -> None:
    result = invoke("--store", "memory:", "--older-than", age)

    assert result.exit_code == 2
    assert "30d" in result.stderr


def test_a_store_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    result = invoke("--store", f"sqlite:///{tmp_path / 'no.db'}", "--older-than", "30d")

    assert result.exit_code == 2
    (told,) = result.stderr.splitlines()
    assert told.startswith("error: there is no database") and "agui-bridge migrate" in told
    assert list(tmp_path.iterdir()) == []
