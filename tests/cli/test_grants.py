"""`agui-bridge grants`: what is remembered is listed and ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

from click.testing import CliRunner, Result

from agui_bridge.cli import app
from agui_bridge.stores.open import open_store
from tests.stores.test_grants import grant
from tests.support.clock import FakeClock


def invoke(*args: str) -> Result:
    return CliRunner().invoke(app, ["grants", *args], prog_name="agui-bridge")


async def _filled(url: str) -> None:
    store = await open_store(url)
    await store.grants.add(grant(FakeClock(), "g-1", expires_at=4e9, max_uses=3))
    await store.aclose()


def test_a_decision_is_listed_and_revoked_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"

    asyncio.run(_filled(url))
    place = ("--store", url, "--scope", "team é")
    listed = invoke("list", *place)
    assert listed.stdout.startswith(
        "g-1  ops: send mail, for actor änn, by bob, used 0 of 3, until"
    )
    assert "; approved with {" in listed.stdout and "; not asked with " in listed.stdout
    assert invoke("revoke", "g-1", *place, "--actor", "ann").exit_code == 0
    again = invoke("revoke", "g-1", *place, "--actor", "ann")
    assert (again.exit_code, "could be revoked" in again.stderr) == (1, True)
    assert "revoked by ann" in invoke("list", *place).stdout
    assert invoke("list", "--store", url).stdout == (
        "There are no remembered decisions in the scope default. "
        "Others have some: --scope team é.\n"
    )


def test_it_works_on_the_store_of_a_configuration_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    file = tmp_path / "bridge.yaml"
    file.write_text(f"store: {url}\nagents: {{ops: {{function: nowhere:ops}}}}\n")
    asyncio.run(_filled(url))
    place = (str(file), "--scope", "team é")

    assert invoke("list", *place).stdout.startswith("g-1  ops: send mail")
    revoked = invoke("revoke", "g-1", *place, "--actor", "ann")
    assert revoked.stdout == "The decision g-1 is revoked: people are asked again.\n"


def test_without_a_store_that_lasts_it_says_what_to_name() -> None:
    for arguments, said in (
        (("list",), "Say which store: name the configuration file, such as bridge.yaml"),
        (("list", "--store", "memory:"), "only the server itself can see"),
        (("revoke", "g-1", "--actor", "ann"), "Say which store"),
    ):
        told = invoke(*arguments)
        assert (told.exit_code, said in told.stderr) == (2, True), told.output
