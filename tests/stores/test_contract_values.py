"""The store contract (stores/base.py): every value comes back as it was given."""

from dataclasses import fields, replace
from typing import Any

import pytest

from agui_bridge.protocol.threads.records import (
    ThreadKey,
    ThreadRecord,
)
from agui_bridge.stores.base import Store
from tests.stores.samples import (
    KEY,
    ODD_JSON,
    ask,
    full_interrupt,
    full_receipt,
    full_record,
    idle,
    message,
    put,
    running,
)

OWNED_BY_STORE = {"stop", "write_id", "created_at", "updated_at"}


def with_defaults(value: Any) -> set[str]:
    """The fields of a record that have their default value, or one that means nothing."""
    return {field.name for field in fields(value) if getattr(value, field.name) in (None, (), "")}


async def test_every_field_comes_back_exactly(store: Store) -> None:
    record, interrupt, closed = full_record(), full_interrupt(), full_receipt()
    assert with_defaults(record) <= OWNED_BY_STORE, "full_record() must fill in new fields"
    assert with_defaults(interrupt) == with_defaults(closed) == set()

    done = await put(
        store,
        record,
        interrupts=(interrupt,),
        receipts=(closed,),
        messages=(message("m", 1, **ODD_JSON),),
    )
    loaded = await store.load(record.key, messages=True)

    assert_same(loaded.record, done.record)
    assert_same(loaded.record, replace(record, **own_fields(loaded.record)))
    assert_same(loaded.interrupts, {"i-1": interrupt})
    assert_same(loaded.receipts, {"b-1": closed})
    assert_same(loaded.messages, (message("m", 1, **ODD_JSON),))
    (row,) = await store.list_threads(record.key.scope, record.key.agent)
    assert_same(row.record, done.record)
    (listed,) = await store.list_interrupts(record.key.scope)
    assert_same(listed.interrupt, interrupt)


def own_fields(record: ThreadRecord | None) -> dict[str, Any]:
    assert record is not None
    return {name: getattr(record, name) for name in (*OWNED_BY_STORE, "run")}


def assert_same(found: object, wanted: object) -> None:
    """Equal, also in types (1 or 1.0), signs of zero and the order of keys."""
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, "x" * 1_000_000])
async def test_falsy_and_long_values_come_back(store: Store, value: Any) -> None:
    await put(store, idle(state=value, handoff=value), messages=(message("m", 1, content=value),))

    loaded = await store.load(KEY, messages=True)
    assert loaded.record is not None
    assert_same([loaded.record.state, loaded.record.handoff], [value, value])
    assert_same(loaded.messages[0].message["content"], value)


@pytest.mark.parametrize("text", ["", " ", "线程", "🧵", "a'b\"c\\", "%_*", "x" * 5000, "A", "a"])
async def test_any_text_is_an_id(store: Store, text: str) -> None:
    key = ThreadKey(text, text, text)
    await put(
        store,
        running(key, text or "token"),
        interrupts=(ask(text, text),),
        messages=(message(text, 1),),
    )

    loaded = await store.load(key, [text], messages=True)
    assert loaded.record is not None
    assert set(loaded.interrupts) == {text}
    assert [row.id for row in loaded.messages] == [text]
    assert (await store.load(replace(key, thread=text.swapcase() + "x"))).record is None


async def test_nothing_that_a_caller_holds_changes_the_store(store: Store) -> None:
    def content() -> dict[str, Any]:
        return {"list": [1]}

    given = content()
    done = await put(
        store,
        idle(state=given, handoff=given),
        interrupts=(ask("a", metadata=given),),
        messages=(message("m", 1)._replace(message=given),),
    )
    looks = [await store.load(KEY, ["a"], messages=True) for _ in range(2)]
    given["list"].append(2)
    for record in (done.record, looks[0].record):
        assert record is not None
        record.state["more"] = 1
        record.handoff["list"].append(3)
    looks[0].messages[0].message["list"].append(4)
    (await store.history(KEY))[0].message["list"].append(5)
    (await store.list_threads("scope", "agent"))[0].record.state["list"].append(6)

    for loaded in (looks[1], await store.load(KEY, ["a"], messages=True)):
        assert loaded.record is not None
        assert loaded.record.state == loaded.record.handoff == content()
        assert loaded.interrupts["a"].metadata == content()
        assert loaded.messages[0].message == content()
