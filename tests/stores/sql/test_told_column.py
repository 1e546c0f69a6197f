"""Revision 0006 keeps what channels have told before."""

from pathlib import Path

from agui_bridge.stores.sql import rows
from tests.stores.sql.conftest import Place

TOLD = {"new": None, "told": False, "over": True}


def take_from(migrations: Path, first: str) -> dict[Path, str]:
    """Remove the revisions from one on; gives their texts."""
    texts = {file: file.read_text() for file in migrations.iterdir() if file.name >= first}
    for file in texts:
        file.unlink()
    return texts


async def test_what_was_told_before_is_not_told_again(before: Place, migrations: Path) -> None:
    last = migrations / "0006_many_questions.sql"
    texts = take_from(migrations, last.name)
    await before.open_and_close()
    for id, ended in TOLD.items():
        status = "resolved" if ended else "open"
        before.ask(
            "INSERT INTO agui_interrupts (scope, agent, thread, id, batch, position, status,"
            f" raised_at, data) SELECT scope, agent, thread, '{id}', 'batch', 0, '{status}', 1,"
            " '{}' FROM agui_threads"
        )
        if ended is not None:
            before.ask(
                "INSERT INTO agui_announced (scope, agent, thread, interrupt, ended)"
                f" SELECT scope, agent, thread, '{id}', {ended} FROM agui_threads"
            )

    for file, text in texts.items():
        file.write_text(text)
    store = await before.open()
    new = {id for _, id in await store.deliveries.unannounced()}
    over = [id for _, id in await store.deliveries.over()]
    await store.aclose()

    assert ("new" in new, "told" in new, "over" in new) == (True, False, False)
    assert over == []
    kept = dict(before.ask("SELECT id, told FROM agui_interrupts"))
    assert {id: kept[id] for id in TOLD} == {"new": 0, "told": 1, "over": 2}
    assert "0006" in rows.revisions(before.database)
