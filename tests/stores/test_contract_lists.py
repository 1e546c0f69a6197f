"""The store contract (stores/base.py), on every backend: lists of interrupts, page by page."""

import itertools
from dataclasses import replace
from typing import Any

from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadKey, ToolCall
from agui_bridge.stores.base import Expected, InterruptRow, Place, QuestionFilter, Store
from tests.stores.samples import KEY, ODD_JSON, OTHER, ask, interrupted, put
from tests.support.clock import FakeClock

OPEN = QuestionFilter(status=InterruptStatus.OPEN)


async def test_interrupts_are_found_and_counted_by_the_tool_they_ask_about(store: Store) -> None:
    def about(id: str, tool: str, *, call: str = "c") -> Interrupt:
        odd = {"x": ODD_JSON, "tool_call": ["c", "pay"], "y": '"tool_call":["c","pay"'}
        return ask(id, message='"tool_call":["c","pay",', tool_call=ToolCall(call, tool, odd))

    asks = (
        about("a", "pay"),
        about("b", "post", call='c","pay",\\"'),
        about("c", 'ü 😀 "%_\\'),
        ask("d", message='"tool_call":["c","pay"]', metadata={"tool_call": ["c", "pay"]}),
        about("f", "pay", call="\\"),
        ask("g", message='"about_tool":"post"', about="c", about_tool="pay", metadata=ODD_JSON),
        ask("h", about_tool='"\\'),
        ask("i", about_tool="pay, …", about_tools=("pay", '"\\', "a\nb")),
        ask("j", about_tool="post, 漢", about_tools=("post", "漢"), metadata={"x": '\n"pay"\n'}),
    )
    expected = {
        "pay": ["a", "f", "g", "i"],
        "post": ["b", "j"],
        '"\\': ["h", "i"],
        "a\nb": ["i"],
        "a": [],
        "漢": ["j"],
        "pay, …": [],
        'ü 😀 "%_\\': ["c"],
        "PAY": [],
        "": [],
    }
    await put(store, interrupted(), interrupts=asks)
    for tool, ids in expected.items():
        for status in (None, InterruptStatus.OPEN):
            rows = await store.list_interrupts("scope", QuestionFilter(tool=tool, status=status))
            assert [row.interrupt.id for row in rows] == ids, tool
            assert await store.count_interrupts(
                "scope", QuestionFilter(tool=tool, status=status)
            ) == len(ids)


async def test_interrupts_are_listed_page_by_page_each_once(store: Store, clock: FakeClock) -> None:
    threads = ("ä", "z", "a b", "a-b", "a", "é/{1}", "日")
    for moment in range(3):
        for name in threads:
            key = replace(KEY, thread=name, agent=f"agent{moment}")
            some = tuple(ask(f"{moment}{n}", position=n) for n in (10, 9, 2))
            await put(store, interrupted(key), interrupts=some)
        clock.advance(0.123456)

    whole = await store.list_interrupts("scope")
    assert len(whole) == len({row.place for row in whole}) == 63
    assert whole == sorted(whole, key=lambda row: row.place)
    for limit in (1, 4, 63):
        pages: list[InterruptRow] = []
        after: Place | None = None
        while page := await store.list_interrupts("scope", OPEN, after=after, limit=limit):
            assert len(page) <= limit
            pages += page
            after = page[-1].place
        assert pages == whole


async def test_a_page_begins_behind_its_place_also_when_nothing_stands_there(
    store: Store, clock: FakeClock
) -> None:
    for id in "abc":
        await put(store, interrupted(replace(KEY, thread=id)), interrupts=(ask(id),))
        clock.advance(1)
    first, second, third = await store.list_interrupts("scope")
    await store.delete(second.key, Expected(version=1000))

    assert await store.list_interrupts("scope", after=second.place) == [third]
    assert await store.list_interrupts("scope", after=first.place) == [third]
    assert await store.list_interrupts("scope", after=third.place) == []
    assert await store.list_interrupts("scope", after=(0.0, "", "", 0, "")) == [first, third]


async def test_interrupts_are_counted_with_the_filters_of_the_list(
    store: Store, clock: FakeClock
) -> None:
    asks = (ask("a"), ask("b", expires_at=clock.time() + 10), ask("c", position=1))
    await put(store, interrupted(), interrupts=asks)
    await put(store, interrupted(OTHER), interrupts=(ask("d", status=InterruptStatus.ANSWERED),))
    await put(store, interrupted(replace(KEY, scope="other")), interrupts=(ask("hidden"),))

    every = (
        QuestionFilter(),
        OPEN,
        QuestionFilter(agent="agent"),
        QuestionFilter(agent="nobody"),
        QuestionFilter(thread="other", status=InterruptStatus.ANSWERED),
        QuestionFilter(agent="agent", thread="thread"),
    )
    for which in every:
        listed = await store.list_interrupts("scope", which)
        assert await store.count_interrupts("scope", which) == len(listed)
    assert await store.count_interrupts("scope", OPEN) == 3
    clock.advance(10)
    assert await store.count_interrupts("scope", OPEN) == 2


async def test_interrupts_are_counted_no_further_than_is_asked_for(store: Store) -> None:
    await put(store, interrupted(), interrupts=tuple(ask(id) for id in "abcd"))

    for which in (QuestionFilter(), OPEN, QuestionFilter(thread="thread")):
        for most in (1, 3, 4, 5, None):
            counted = await store.count_interrupts("scope", which, most=most)
            assert counted == min(most or 4, 4)


async def test_few_are_found_and_counted_behind_very_many(store: Store, clock: FakeClock) -> None:
    for number in range(5):
        many = tuple(ask(f"{number}-{n}", position=n) for n in range(500))
        await put(store, interrupted(replace(KEY, thread=f"many-{number}")), interrupts=many)
        clock.advance(1)
    call = ToolCall("c", "pay", {})
    few = tuple(ask(id, position=n, tool_call=call) for n, id in enumerate("abc"))
    await put(store, interrupted(OTHER), interrupts=few)

    which = QuestionFilter(tool="pay", status=InterruptStatus.OPEN)
    for limit in (2, 3, 4):
        rows = await store.list_interrupts("scope", which, limit=limit)
        assert [row.interrupt.id for row in rows] == ["a", "b", "c"][:limit]
    assert await store.count_interrupts("scope", which) == 3
    assert await store.count_interrupts("scope", OPEN) == 2503
    assert await store.count_interrupts("scope", OPEN, most=2400) == 2400
    every = await store.list_interrupts("scope", OPEN, limit=9999)
    assert len({row.place for row in every}) == 2503


async def test_a_tools_questions_are_found_whatever_becomes_of_them(
    store: Store, clock: FakeClock
) -> None:
    tools = ("pay", 'ü "\\', "post")
    keys = [ThreadKey("scope", f"agent{n % 2}", f"t{n}") for n in range(6)]

    def about(number: int, **fields: Any) -> Interrupt:
        call = ToolCall("c", tools[number % 3], {})
        return ask(f"q{number}", tool_call=call, **fields)

    async def compare() -> None:
        every = await store.list_interrupts("scope", OPEN)
        for tool, agent in itertools.product(tools, (None, "agent0", "agent1")):
            which = QuestionFilter(agent, tool, status=InterruptStatus.OPEN)
            fitting = [
                row
                for row in every
                if row.interrupt.tool_call is not None
                and row.interrupt.tool_call.name == tool
                and agent in (None, row.key.agent)
            ]
            assert await store.list_interrupts("scope", which) == fitting
            assert await store.count_interrupts("scope", which) == len(fitting)
            first = fitting[:1] and fitting[0].place
            if first:
                assert await store.list_interrupts("scope", which, after=first) == fitting[1:]

    for number, key in enumerate(keys):
        await put(store, interrupted(key), interrupts=(about(number),))
        await compare()
        # Long enough for whatever a store sorts later.
        clock.advance(50)
    changes: list[dict[str, Any]] = [
        {"status": InterruptStatus.CLAIMED},
        {},
        {"position": 7},
        {"status": InterruptStatus.RESOLVED},
        {"expires_at": clock.time() + 275},
    ]
    for version, change in enumerate(changes, 1000):
        for number in (0, 4):
            asked = replace(about(number), **change)
            expected = Expected(version=version)
            await put(store, interrupted(keys[number]), expected, interrupts=(asked,))
        await compare()
        clock.advance(50)
        await compare()
    await store.delete(keys[1], Expected(version=1000))
    await compare()
    clock.advance(500)
    await compare()
