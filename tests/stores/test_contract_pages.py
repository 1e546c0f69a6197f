"""The store contract (stores/base.py): pages of a thread, and where its messages stand."""

import pytest

from agui_bridge.stores.base import Store
from tests.stores.samples import KEY, OTHER, idle, message, put

ODD = 'e","],9,\\" \\'
"""An id that looks like what a store may write around ids."""


async def filled(store: Store) -> None:
    """A thread of six messages of 1,000 to 6,000 characters, two of which left the context."""
    ids = ["a", "b", "c", "d", ODD, "f"]
    texts = {id: str(n) * n * 1000 for n, id in enumerate(ids, 1)}
    rows = tuple(message(id, n * 10, content=texts[id]) for n, id in enumerate(ids, 1))
    await put(store, idle(), messages=rows, superseded=("b", ODD))


@pytest.mark.parametrize(
    ("before", "most_bytes", "found"),
    [
        (None, None, ["a", "b", "c", "d", ODD, "f"]),
        (10, None, []),
        (50, None, ["a", "b", "c", "d"]),
        (None, 1, ["f"]),
        (None, 6_500, ["f"]),
        (None, 12_000, [ODD, "f"]),
        (40, 5_500, ["b", "c"]),
        (40, 100_000, ["a", "b", "c"]),
        (9, 100, []),
        (2**62, 12_000, [ODD, "f"]),
    ],
)
async def test_a_page_holds_the_last_messages_that_fit(
    store: Store, before: int | None, most_bytes: int | None, found: list[str]
) -> None:
    await filled(store)

    page = await store.history(KEY, before=before, most_bytes=most_bytes)

    assert [row.id for row in page] == found
    assert all(len(str(row.message["content"])) == row.position * 100 for row in page)


async def test_pages_one_after_the_other_are_the_whole_thread(store: Store) -> None:
    await filled(store)
    found: list[str] = []
    before = None
    while page := await store.history(KEY, before=before, most_bytes=7_500):
        found = [*(row.id for row in page), *found]
        before = page[0].position
    assert found == ["a", "b", "c", "d", ODD, "f"]


async def test_positions_below_nought_come_first(store: Store) -> None:
    places = (-12, 5, -5, 12, 0, 100)
    rows = tuple(message(f"m{place}", place) for place in places)
    await put(store, idle(), messages=rows, superseded=("m5",))
    page = await store.history(KEY, before=12, most_bytes=10_000)
    assert [row.position for row in page] == [-12, -5, 0, 5]
    assert [row.position for row in await store.history(KEY, before=-5)] == [-12]
    assert await store.positions(KEY, ["m-12", "m5"]) == {"m-12": -12, "m5": 5}


async def test_positions_are_given_of_what_the_thread_has(store: Store) -> None:
    await filled(store)
    asked = ["f", "b", "nobody's", ODD]
    assert await store.positions(KEY, asked) == {"f": 60, "b": 20, ODD: 50}
    assert await store.positions(KEY, []) == {}
    assert await store.positions(OTHER, asked) == {}
    many = [*(str(n) for n in range(3_000)), "a"]
    assert await store.positions(KEY, many) == {"a": 10}
