"""`agui-bridge migrate`: which store is meant, and what was done to it, on every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agui_bridge.cli import app
from agui_bridge.cli.banner import store_label
from agui_bridge.stores.redis.open import SCHEMA
from agui_bridge.stores.sql.rows import head_of
from tests.stores.sql.conftest import new_place
from tests.stores.upgrades.conftest import RESTORED
from tests.support.own_modules import importing_own
from tests.support.redis_server import redis_url

HEADS = {"sqlite": head_of("sqlite"), "postgres": head_of("postgres"), "redis": str(SCHEMA)}
FILE = "store: {}\nagents:\n  mail:\n    function: agents:mail\n"


def invoke(*args: str, **variables: str) -> Result:
    return CliRunner().invoke(app, ["migrate", *args], prog_name="agui-bridge", env=variables)


@pytest.fixture(params=HEADS)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a store that is not there yet, and the schema that it will have."""
    if request.param == "redis":
        yield redis_url(tmp_path), HEADS["redis"]
        return
    with new_place(request.param, tmp_path) as place:
        yield place.url, HEADS[request.param]


def test_a_store_is_made_once_and_left_as_it_is_later(empty: tuple[str, str]) -> None:
    url, head = empty
    first, second = invoke("--store", url), invoke("--store", url)

    name = f"The store {store_label(url)}"
    assert first.stdout == f"{name} was made, with schema {head}: it is up to date.\n"
    assert second.stdout == f"{name} has schema {head} already: it is up to date.\n"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_of_an_older_store_it_says_from_where_to_where_it_went(kind: str, tmp_path: Path) -> None:
    with RESTORED[kind](tmp_path) as url:
        told = invoke("--store", url).stdout

        assert " went from schema 000" in told
        assert told.endswith(f" to {HEADS[kind]}: it is up to date.\n")
        assert "has schema" in invoke("--store", url).stdout


def test_memory_has_nothing_to_migrate() -> None:
    told = invoke("--store", "memory:").stdout

    assert told.endswith("has no tables: there is nothing to migrate.\n")


# --- which store ---


def test_the_store_is_that_of_a_file_and_options_and_the_environment_go_before(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/{{}}.db"
    file = tmp_path / "bridge.yaml"
    # Nothing of the agents is imported: there is no such module.
    file.write_text(FILE.format(url.format("file")))

    invoke(str(file))
    assert [path.name for path in tmp_path.glob("*.db")] == ["file.db"]
    invoke(str(file), AGUI_BRIDGE_STORE=url.format("environment"))
    invoke(str(file), "--store", url.format("flag"), AGUI_BRIDGE_STORE=url.format("not"))
    made = {path.name for path in tmp_path.glob("*.db")}
    assert made == {"file.db", "environment.db", "flag.db"}


def test_the_store_of_a_module_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stored.py").write_text(
        "from agui_bridge import Bridge\n"
        "from agui_bridge.stores.memory import MemoryStore\n"
        "bridge, own = Bridge('sqlite:///m.db'), Bridge(MemoryStore())\n"
        "for each in (bridge, own):\n"
        "    @each.agent\n"
        "    async def helper(run):\n"
        "        yield 'hi'\n"
    )
    with importing_own("stored"):
        assert invoke("stored:bridge").exit_code == 0
        assert (tmp_path / "m.db").exists()

        refused = invoke("stored:own")
        assert refused.exit_code == 2
        assert "Give its address with --store." in refused.stderr


def test_without_any_store_it_says_how_to_name_one() -> None:
    refused = invoke(AGUI_BRIDGE_STORE="")

    assert refused.exit_code == 2
    assert "name the configuration file" in refused.stderr
    assert "--store URL" in refused.stderr
