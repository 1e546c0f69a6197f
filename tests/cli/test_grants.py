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


def test_a_decision_is_listed_and_revoked_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"

    async def fill() -> None:
        store = await open_store(url)
        await store.grants.add(grant(FakeClock(), "g-1", expires_at=4e9, max_uses=3))
        await store.aclose()

    asyncio.run(fill())
    place = ("--store", url, "--scope", "team é")
    listed = invoke("list", *place)
    assert listed.stdout.startswith(
        "g-1  ops: send mail, for actor änn, by bob, used 0 of 3, until"
    )
    assert invoke("revoke", "g-1", *place, "--actor", "ann").exit_code == 0
    again = invoke("revoke", "g-1", *place, "--actor", "ann")
    assert (again.exit_code, "could be revoked" in again.stderr) == (1, True)
    assert "revoked by ann" in invoke("list", *place).stdout
    assert "Nothing is remembered" in invoke("list", "--store", url).stdout
