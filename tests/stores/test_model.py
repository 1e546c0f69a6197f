"""Every backend against the memory store, under random schedules with one fake clock."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agui_bridge.errors import StoreError
from agui_bridge.protocol.threads.records import (
    Batch,
    InterruptStatus,
    RunLease,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores.base import ABSENT, Change, Expected, QuestionFilter, Store
from agui_bridge.stores.memory import MemoryStore
from tests.stores.conftest import COMPARED, Backend
from tests.stores.samples import ask, message, receipt, stop
from tests.support.clock import FakeClock

KEYS = [
    ThreadKey("s", "a", "t"),
    ThreadKey("s", "a", "u"),
    ThreadKey("s", "b", "t"),
    ThreadKey("other", "a", "t"),
]
TOKENS = ["t1", "t2"]
BATCHES = ["b1", "b2"]
ASKS = ["i1", "i2", "i3"]
MESSAGES = ["m1", "m2", "m3"]

Call: TypeAlias = Callable[[Store], Coroutine[Any, Any, Any]]

keys = st.sampled_from(KEYS)
tokens = st.sampled_from(TOKENS)
batches = st.sampled_from(BATCHES)
statuses = st.sampled_from(InterruptStatus)
states = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
records = st.builds(
    ThreadRecord,
    key=st.just(KEYS[0]),
    status=st.sampled_from(ThreadStatus),
    version=st.integers(1, 3),
    batch=st.none() | st.builds(Batch, batches, states),
    run=st.none() | st.builds(RunLease, st.just("run"), tokens, st.just(0.0)),
    state=states,
)
expiries = st.none() | st.integers(0, 60)
asks = st.lists(
    st.tuples(st.sampled_from(ASKS), batches, statuses, expiries),
    max_size=3,
    unique_by=lambda row: row[0],
)
messages = st.lists(
    st.builds(message, st.sampled_from(MESSAGES), st.integers(0, 5), content=states),
    max_size=2,
    unique_by=lambda row: row.id,
)
superseded = st.lists(st.sampled_from(MESSAGES), max_size=1)
leases = st.none() | st.sampled_from([10.0, 40.0])


class Comparison(RuleBasedStateMachine):
    """Does everything twice: on a backend and on the memory store.

    Attributes:
        template: a directory with the data of an empty store; to make one takes long.
    """

    backend: Backend
    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(dir=self.template.parent))
        shutil.copytree(self.template, self.directory, dirs_exist_ok=True)
        assert self.backend.url is not None
        self.clock = FakeClock()
        self.runner = asyncio.Runner()
        self.model = MemoryStore(self.clock.time)
        opened = self.backend.open(self.backend.url(self.directory), self.clock)
        self.store = self.runner.run(_awaited(opened))
        self.writes = 0
        self.last: Call | None = None

    def teardown(self) -> None:
        self.runner.run(self.store.aclose())
        self.runner.close()
        shutil.rmtree(self.directory)

    def both(self, call: Call) -> Any:
        """Call both stores and compare what comes back, or the error's class."""
        ours, model = (self.runner.run(_outcome(call, store)) for store in (self.store, self.model))
        assert ours == model
        return model

    def version(self, key: ThreadKey) -> int | None:
        record = self.runner.run(self.model.load(key)).record
        return record.version if record else None

    @rule(
        key=keys,
        record=records,
        guard=st.sampled_from(["version", "version", "version", "lease", "both", "absent"]),
        off=st.sampled_from([0, 0, 0, 1]),
        token=tokens,
        asks=asks,
        closed=st.lists(batches, max_size=1),
        messages=messages,
        superseded=superseded,
        lease=leases,
        drops=st.booleans(),
    )
    def commit(
        self,
        key: ThreadKey,
        record: ThreadRecord,
        guard: str,
        off: int,
        token: str,
        asks: list[Any],
        closed: list[str],
        messages: list[Any],
        superseded: list[str],
        lease: float | None,
        drops: bool,
    ) -> None:
        version = self.version(key)
        version = None if version is None else version + off
        expected = {
            "version": Expected(version=version),
            "lease": Expected(lease=token),
            "both": Expected(version, token),
            "absent": ABSENT,
        }[guard]
        change = Change(
            replace(record, key=key),
            interrupts=tuple(
                ask(
                    id,
                    batch,
                    status=status,
                    expires_at=None if expires is None else self.clock.time() + expires,
                )
                for id, batch, status, expires in asks
            ),
            receipts=tuple(receipt(batch, at=self.clock.time()) for batch in closed),
            messages=tuple(messages),
            superseded=tuple(superseded),
            lease_seconds=lease,
            drops_words=drops,
        )
        self.writes += 1
        write_id = f"w{self.writes}"
        self.last = lambda store: store.commit(key, change, expected, write_id)
        self.both(self.last)

    @precondition(lambda self: self.last is not None)
    @rule()
    def the_acknowledgement_was_lost(self) -> None:
        assert self.last is not None
        self.both(self.last)

    @rule(key=keys, token=tokens, content=states)
    def keep_words(self, key: ThreadKey, token: str, content: Any) -> None:
        said = message("m1", 1, content=content)
        self.both(lambda store: store.keep_words(key, token, said))

    @rule(key=keys, token=tokens, force=st.booleans(), until=st.integers(0, 3))
    def request_stop(self, key: ThreadKey, token: str, force: bool, until: int) -> None:
        request = stop(token, force=force, until=float(until))
        self.both(lambda store: store.request_stop(key, request))

    @rule(
        leases=st.dictionaries(tokens, keys, max_size=2),
        seconds=st.sampled_from([0.0, 10.0, 40.0]),
    )
    def renew(self, leases: dict[str, ThreadKey], seconds: float) -> None:
        self.both(lambda store: store.renew(leases, seconds))

    @rule(key=keys, off=st.sampled_from([0, 0, 1]), token=st.none() | tokens)
    def delete(self, key: ThreadKey, off: int, token: str | None) -> None:
        version = self.version(key)
        expected = Expected(None if version is None else version + off, token)
        self.both(lambda store: store.delete(key, expected))

    @rule(seconds=st.sampled_from([0.25, 5.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(age=st.sampled_from([0.0, 20.0, 60.0]), limit=st.integers(0, 2))
    def prune(self, age: float, limit: int) -> None:
        # Threads of one age are pruned in any order, so a limit must not choose among them.
        rows = [row for key in KEYS if (row := self.runner.run(self.model.load(key)).record)]
        touched = [row.updated_at for row in rows]
        some = limit if len(set(touched)) == len(touched) else 1000
        self.both(lambda store: store.prune(age, some))

    @invariant()
    def all_looks_are_alike(self) -> None:
        now = self.clock.time()
        self.both(_all_of_every_thread)
        self.both(lambda store: _all_lists(store, now))


async def _all_of_every_thread(store: Store) -> list[Any]:
    looks: list[Any] = []
    for key in KEYS:
        looks += [await store.load(key), await store.history(key), await store.words(key)]
        looks.append(await store.load(key, ["i1", "nobody"], messages=True))
    return looks


async def _all_lists(store: Store, now: float) -> list[Any]:
    looks: list[Any] = [await store.ping()]
    looks += [await store.list_threads("s", "a", before=when) for when in (None, now, now - 20)]
    looks += [
        await store.list_interrupts("s", QuestionFilter(status=word))
        for word in (None, *InterruptStatus)
    ]
    looks.append(
        page := await store.list_interrupts("s", QuestionFilter(agent="a", thread="t"), limit=2)
    )
    looks += [await store.list_interrupts("s", after=row.place, limit=3) for row in page]
    looks += [
        await store.count_interrupts("s", QuestionFilter(status=word))
        for word in (None, *InterruptStatus)
    ]
    # These come in any order.
    looks += [sorted(map(repr, rows)) for rows in (await store.due(), await store.stops(["t1"]))]
    return looks


async def _make_empty(backend: Backend, directory: Path) -> None:
    assert backend.url is not None
    store = await backend.open(backend.url(directory), FakeClock())
    await store.aclose()


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


async def _outcome(call: Call, store: Store) -> Any:
    try:
        return "returned", await call(store)
    except StoreError as error:
        return "raised", type(error)


@pytest.mark.soak
@pytest.mark.parametrize(
    "schedules",
    [
        pytest.param(8, id="few"),
        pytest.param(100, id="many", marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
    ],
)
@pytest.mark.parametrize("backend", COMPARED, ids=lambda backend: backend.name, indirect=True)
def test_a_backend_does_what_the_memory_store_does(
    backend: Backend, tmp_path: Path, schedules: int
) -> None:
    template = tmp_path / "template"
    template.mkdir()
    asyncio.run(_make_empty(backend, template))
    machine = type("Machine", (Comparison,), {"backend": backend, "template": template})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=schedules,
            stateful_step_count=20,
            suppress_health_check=list(HealthCheck),
        ),
    )
