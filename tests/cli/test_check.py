"""`agui-bridge check` says which schema a store has, and changes nothing in it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agui_bridge.cli import app
from tests.cli.test_migrate import HEADS
from tests.stores.sql.conftest import new_place
from tests.stores.upgrades.conftest import RESTORED
from tests.support.own_modules import importing_own
from tests.support.redis_server import redis_url


def invoke(*args: str) -> Result:
    return CliRunner().invoke(app, args, prog_name="agui-bridge")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A configuration file in a folder of its own, with an agent."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "checked_agents.py").write_text('async def ops(run):\n    yield "Done."\n')
    with importing_own("checked_agents"):
        yield folder / "bridge.yaml"


def checked(file: Path, url: str) -> str:
    file.write_text(f"store: {url}\nagents: {{ops: {{function: 'checked_agents:ops'}}}}\n")
    result = invoke("check", "bridge.yaml")
    assert result.exit_code == 0, result.output
    first, told = result.stdout.splitlines()
    assert first.startswith("bridge.yaml is fine: 1 agent (ops)")
    return told


@contextmanager
def _place(kind: str, folder: Path) -> Iterator[str]:
    """The address of a store that is not there yet."""
    if kind == "redis":
        yield redis_url(folder)
        return
    with new_place("sqlite" if kind == "sqlite" else "postgres", folder) as place:
        yield place.url


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


@pytest.mark.parametrize("kind", HEADS)
def test_a_store_that_does_not_exist_is_not_made(kind: str, tmp_path: Path, file: Path) -> None:
    told = f"There is no store yet: `migrate` or `serve` makes it, with schema {HEADS[kind]}."
    with _place(kind, tmp_path) as url:
        assert [checked(file, url), checked(file, url)] == [told, told]
    assert digests(tmp_path) == {}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_older_store_stays_what_it_is(kind: str, tmp_path: Path, file: Path) -> None:
    with RESTORED[kind](tmp_path) as url:
        before = digests(tmp_path)
        first, second = checked(file, url), checked(file, url)
        assert first == second
        assert first.startswith("The store has schema 000")
        assert f"the next `serve` brings it to {HEADS[kind]}, and there is no way back" in first
        assert digests(tmp_path) == before

        invoke("migrate", "--store", url)
        before = digests(tmp_path)
        now = f"The store has schema {HEADS[kind]}, which is that of this version."
        assert checked(file, url) == now
        assert digests(tmp_path) == before


def test_the_store_of_a_server_that_runs_is_looked_at(tmp_path: Path, file: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    invoke("migrate", "--store", url)
    with closing(sqlite3.connect(tmp_path / "a.db")) as server:
        server.execute("UPDATE agui_schema SET version_num = '0001'")
        server.commit()
        # What it wrote last is in the log beside the file.
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        assert "The store has schema 0001:" in checked(file, url)
