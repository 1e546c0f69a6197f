"""A name acts, and is told, in its own scope: the same names in two scopes never meet."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge import ApprovalRule, BearerTokens, Bridge, Escalation, Principal
from agui_bridge.channels import Channel, Slack, Smtp, Teams, Webhook
from agui_bridge.channels.notice import Notice
from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox.reference import References
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.memory import MemoryStore
from tests.channels.bridges import SECRET, notice
from tests.channels.receivers import link_of
from tests.channels.test_dispatcher import Told, dispatcher, told
from tests.channels.two_scopes import INBOX, KINDS, NAMES, SCOPES, SURFACES, two_scopes
from tests.stores.samples import ask, interrupted, put
from tests.support.clock import FakeClock
from tests.support.waiting import eventually

OTHERS = ThreadKey("other", "agent", "t")
RULED = ApprovalRule(
    approvers=("bob",), notify=NAMES, escalate=(Escalation(0.05, ("carl",), NAMES),)
)


@pytest.mark.parametrize("rule", [None, RULED], ids=["by_default", "ruled_and_escalated"])
async def test_every_channel_is_told_of_its_own_scope_alone(rule: ApprovalRule | None) -> None:
    times = 1 if rule is None else 2
    async with two_scopes(rule) as world:
        await world.ask()
        for kind in KINDS:
            for scope in SCOPES:
                await eventually(lambda: len(world.told(kind, scope)) == times)  # noqa: B023
        store = (await world.bridge.open()).store
        planned = {
            scope: {
                one.channel for one in await store.deliveries.list_deliveries(scope) if one.channel
            }
            for scope in SCOPES
        }
        for kind in KINDS:
            for scope, foreign in (SCOPES, SCOPES[::-1]):
                texts = world.told(kind, scope)
                assert all(f"{scope}-rows" in text for text in texts)
                assert not any(f"{foreign}-rows" in text for text in texts)
        links = {
            mail["To"]: References(INBOX.keys).read(link_of(mail).rpartition("/d/")[2]).key.scope
            for mail in world.mailbox.mails
        }

    assert planned == {scope: {f"{kind}-{scope}" for kind in KINDS} for scope in SCOPES}
    assert links == {f"bob@{scope}.example": scope for scope in SCOPES}


@pytest.mark.parametrize(
    ("surface", "actor"),
    [
        *((surface, "bob") for surface in SURFACES),
        *((surface, "carl") for surface in ("teams", "webhook", "inbox")),
    ],
)
async def test_the_same_name_decides_in_its_own_scope_and_in_no_other(
    surface: str, actor: str
) -> None:
    async with two_scopes(RULED) as world:
        await world.ask()
        for kind in KINDS:
            for scope in SCOPES:
                await eventually(lambda: len(world.told(kind, scope)) == 2)  # noqa: B023
        for scope, foreign in (SCOPES, SCOPES[::-1]):
            assert await world.approve(surface, of=scope, about=foreign, actor=actor)
        before = list(world.executed)
        for scope in SCOPES:
            assert await world.approve(surface, of=scope, about=scope, actor=actor) == []

    assert before == []
    assert sorted(world.executed) == ["other-rows", "team-rows"]


async def test_what_was_planned_for_a_scope_that_is_no_longer_told_is_dropped() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)
    every, own = told(scopes=["*"]), told(scopes=["team"])
    await put(store, interrupted(OTHERS), interrupts=(ask("i"),))
    await dispatcher(store, clock, ops=every).plan()
    await dispatcher(store, clock, ops=own).sweep()
    [delivery] = await store.deliveries.list_deliveries("other")

    assert (own.events, every.events) == ([], [])
    assert (delivery.state, delivery.attempts) == ("dropped", 0)


async def test_the_end_of_a_question_is_told_no_scope_but_its_own() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)
    every, own = told(scopes=["*"]), told(scopes=["team"])
    expiring = ask("i", expires_at=clock.time() + 10)
    await put(store, interrupted(OTHERS), interrupts=(expiring,))
    await dispatcher(store, clock, ops=every).sweep()
    clock.advance(10)
    await dispatcher(store, clock, ops=own).sweep()

    assert (every.events, own.events) == (["opened"], [])


async def test_a_scope_that_nobody_tells_is_named_in_the_log_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)
    office = dispatcher(store, clock, ops=told(scopes=["team"]))
    for number in range(3):
        key = ThreadKey("other", "agent", f"t{number}")
        await put(store, interrupted(key), interrupts=(ask("i"),))
    await office.sweep()

    assert caplog.messages == [
        "channels: nobody is told of a question of scope 'other': the channels that it is for "
        "(ops) are told of other scopes"
    ]


def smtp(to: Any, **options: Any) -> Smtp:
    return Smtp("smtp://127.0.0.1:9?starttls=never", "bridge@agents.example", to, **options)


def tokens(*principals: Principal) -> BearerTokens:
    return BearerTokens({f"a-token-of-number-{n}": who for n, who in enumerate(principals)})


ADDRESS = "bob@example.org"
BOB = {"bob": ADDRESS}
HOOK = Webhook("https://hooks.example/", SECRET)
ONE = tokens(Principal("team", "bob"), Principal("team", "ann"))
TWO = tokens(Principal("team", "bob"), Principal("other", "bob"))
REVIEWED = tokens(Principal("team", "bob", reviews=("other",)))
SEVERAL = "There are several scopes ('other', 'team'). Say whose questions this channel is told of:"
PLAIN = "'bob' is a plain name, which stands for somebody of one scope"


def anybody(request: object) -> Principal:
    return Principal("team", "bob")


@pytest.mark.parametrize(
    ("channel", "authenticate", "scopes"),
    [
        (smtp(BOB), None, {"default"}),
        (smtp(BOB), ONE, {"team"}),
        (HOOK, ONE, {"team"}),
        (smtp(BOB, scopes=["team"]), TWO, {"team"}),
        (smtp(BOB, scopes=["team"]), anybody, {"team"}),
        (smtp({Principal("team", "bob"): ADDRESS}), TWO, {"team"}),
        (smtp({Principal("team", "bob", reviews=("b",)): ADDRESS}), anybody, {"team", "b"}),
        (smtp({Principal("team", "bob"): ADDRESS}, scopes=["*"]), TWO, {"*"}),
    ],
)
def test_a_channel_without_scopes_has_the_only_one_or_those_of_all_whom_it_names(
    channel: Channel, authenticate: Any, scopes: set[str]
) -> None:
    bridge = Bridge(authenticate=authenticate, channels={"one": channel})
    assert bridge.channels.scopes["one"].names == scopes


@pytest.mark.parametrize(
    ("channel", "authenticate", "said"),
    [
        (smtp(BOB), TWO, SEVERAL),
        (smtp(BOB), REVIEWED, SEVERAL),
        (smtp(lambda _: BOB), TWO, SEVERAL),
        (smtp({Principal("team", "bob"): ADDRESS, "ann": ADDRESS}), TWO, SEVERAL),
        (HOOK, TWO, SEVERAL),
        (Teams("https://teams.example/"), TWO, SEVERAL),
        (Slack("t", "s", "C", lambda _: None), TWO, SEVERAL),
        (Told(), TWO, SEVERAL),
        (smtp(BOB), anybody, "The function that authenticates may give any scope."),
        (HOOK, anybody, "The function that authenticates may give any scope."),
        (smtp(BOB, scopes=["team", "other"]), TWO, PLAIN),
        (smtp(BOB, scopes=["*"]), TWO, PLAIN),
        (smtp({Principal("board", "bob"): ADDRESS}), ONE, "they would hear of nothing"),
        (smtp({Principal("*", "bob"): ADDRESS}), TWO, "name their scopes one by one"),
    ],
)
def test_a_channel_is_refused_if_nobody_knows_whose_questions_it_is_told_of(
    channel: Channel, authenticate: Any, said: str
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Bridge(authenticate=authenticate, channels={"one": channel})
    assert str(refusal.value).startswith("channels: one: ")
    assert said in str(refusal.value)


@pytest.mark.parametrize("wrong", ["team", [], [""], [5]])
def test_scopes_that_are_no_list_of_names_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="scopes must be a list of scopes"):
        Webhook("https://hooks.example/", SECRET, scopes=wrong)


async def test_a_function_that_gives_plain_names_of_several_scopes_mails_nobody() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)
    asked: list[Notice] = []

    def to(about: Notice) -> dict[str, str]:
        asked.append(about)
        return BOB

    await put(store, interrupted(OTHERS), interrupts=(ask("i"),))
    await dispatcher(store, clock, mail=smtp(to, scopes=["team", "other"])).sweep()
    [delivery] = await store.deliveries.list_deliveries("other")

    assert len(asked) == 1
    assert (delivery.state, delivery.attempts) == ("dead", 1)
    assert delivery.error is not None and "plain name" in delivery.error


def test_nobody_gets_a_link_to_a_question_that_they_do_not_see() -> None:
    links = notice(key=OTHERS).links

    assert links.personal(Principal("team", "bob")) is None
    for person in ("bob", Principal("other", "bob"), Principal("board", "bob", reviews=("other",))):
        link = links.personal(person)
        assert link is not None
        holder = References(INBOX.keys).read(link.rpartition("/d/")[2]).holder
        assert holder == Principal("other", "bob")
