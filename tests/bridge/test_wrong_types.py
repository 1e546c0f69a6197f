"""What a program passes of another type is refused where it passes it, with what is wanted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from agui_bridge import BearerTokens, Bridge, FunctionAdapter, KeywordAdapter, Pause, Settings
from agui_bridge.agents.chat import ChatAgent
from agui_bridge.channels import Slack, Smtp, Teams, Webhook
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.server import serve
from agui_bridge.inbox import Inbox
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.stores.memory import MemoryStore

SECRET: Final = "a-secret-of-32-letters-that-stands-in-no-log"
HOOK: Final = "whsec_" + "A" * 32


def plain(*_: Any) -> None:
    """A function of no framework."""


async def agent(run: Any) -> str:
    return "done"


Make = Callable[[Any], object]

MADE: Final[dict[str, Make]] = {
    "Bridge(store=…) must be a str or a Store, not int 5.": lambda _: Bridge(5),  # type: ignore[arg-type]
    "Bridge(store=…) must be a str or a Store, not the class MemoryStore.": lambda _: Bridge(
        MemoryStore  # type: ignore[arg-type]
    ),
    "Bridge(settings=…) must be a Settings or None, not dict.": lambda w: Bridge(settings=w({})),
    "Bridge(authenticate=…) must be a function or None, not str 'x'.": lambda w: Bridge(
        authenticate=w("x")
    ),
    "Bridge(allowed_hosts=…) must be a list of str, not str 'app.example'.": lambda _: Bridge(
        allowed_hosts="app.example"
    ),
    "Bridge(allowed_hosts=…) must be a list of str, not list with int 5.": lambda w: Bridge(
        allowed_hosts=w([5])
    ),
    "Bridge(cors_origins=…) must be a list of str, not str '*'.": lambda _: Bridge(
        cors_origins="*"
    ),
    "Bridge(cors_origin_regex=…) must be a str or None, not list.": lambda w: Bridge(
        cors_origin_regex=w([])
    ),
    "Bridge(copilotkit=…) must be a str or None, not bool False.": lambda w: Bridge(
        copilotkit=w(False)
    ),
    "Bridge(playground=…) must be a bool, not str 'yes'.": lambda w: Bridge(playground=w("yes")),
    "Bridge(first_page=…) must be a bool or None, not int 1.": lambda w: Bridge(first_page=w(1)),
    "Bridge(audit_keys=…) must be a list of str or None, not str.": lambda _: Bridge(
        audit_keys=SECRET
    ),
    "Bridge(inbox=…) must be an Inbox or None, not bool True.": lambda w: Bridge(inbox=w(True)),
    "Bridge(channels=…) must be a mapping of str to Channel or None, not list.": lambda w: Bridge(
        channels=w([])
    ),
    "Bridge(channels=…) must be a mapping of str to Channel or None, not dict with int 5.": (
        lambda w: Bridge(channels=w({"a": 5}))
    ),
    "Bridge(telemetry=…) must be a bool, a str or a Telemetry, not int 5.": lambda w: Bridge(
        telemetry=w(5)
    ),
    "bridge.store(store=…) must be a str or a Store, not None.": lambda w: setattr(
        Bridge(), "store", w(None)
    ),
    "bridge.app(anonymous=…) must be a bool, not str 'false'.": lambda w: Bridge().app(
        anonymous=w("false")
    ),
    "bridge.routes(anonymous=…) must be a bool, not int 1.": lambda w: Bridge().routes(
        anonymous=w(1)
    ),
    "bridge.policy(policy=…) must be a function, not int 5.": lambda w: Bridge().policy(w(5)),
    "bridge.approvals(approvals=…) must be a function, not str 'ann'.": lambda w: (
        Bridge().approvals(w("ann"))
    ),
    "bridge.on_run_end(hook=…) must be a function, not None.": lambda w: Bridge().on_run_end(
        w(None)
    ),
    "bridge.agent(name=…) must be a function, a str or None, not int 5.": lambda w: Bridge().agent(
        w(5)
    ),
    "bridge.agent(description=…) must be a str, not None.": lambda w: Bridge().agent(
        "ops", description=w(None)
    ),
    "bridge.agent(extract=…) must be a function or None, not str 'rule'.": lambda w: Bridge().agent(
        "ops", extract=w("rule")
    ),
    "bridge.add(name=…) must be a str, not int 5.": lambda w: Bridge().add(
        w(5), FunctionAdapter(agent)
    ),
    "bridge.add(exempt=…) must be a bool, not str 'no'.": lambda w: Bridge().add(
        "ops", FunctionAdapter(agent), exempt=w("no")
    ),
    "Agent 'ops': agent is a function: decorate it with @bridge.agent('ops'), or pass "
    "FunctionAdapter(agent).": lambda _: Bridge().add("ops", agent),
    "Agent 'ops': plain is a function: decorate it with @bridge.agent('ops'), or pass "
    "FunctionAdapter(plain).": lambda _: Bridge().add("ops", plain),
    "Agent 'ops': 5 is no Adapter: it lacks run, aclose, capabilities.": lambda _: Bridge().add(
        "ops", 5
    ),
    "BearerTokens.tokens must be a mapping of tokens to Principal, not list.": lambda w: (
        BearerTokens(w([SECRET]))
    ),
    "BearerTokens.tokens must be a mapping of tokens to Principal, not str.": lambda w: (
        BearerTokens(w(SECRET))
    ),
    "A token must stand for a Principal, not str.": lambda w: BearerTokens(w({"ann": SECRET})),
    "Pause.asks must be a sequence of one or more Ask, not list.": lambda _: Pause([]),
    "Pause.asks must be a sequence of one or more Ask, not None.": lambda w: Pause(w(None)),
    "Inbox.url must be a str or None, not bool True.": lambda w: Inbox(w(True)),
    "Inbox.keys must be a list of str, not str.": lambda _: Inbox(keys=SECRET),
    "Inbox.link_ttl must be a number, not str 'week'.": lambda w: Inbox(link_ttl=w("week")),
    "Inbox.login_url must be a str or None, not int 5.": lambda w: Inbox(login_url=w(5)),
    "Webhook.url must be a str, not int 5.": lambda w: Webhook(w(5), HOOK),
    "Webhook.secret must be a str or a list of str, not dict.": lambda w: Webhook(
        "https://a.example", w({"secret": SECRET})
    ),
    "Webhook.timeout must be a number, not str '5'.": lambda w: Webhook(
        "https://a.example", HOOK, timeout=w("5")
    ),
    "Webhook.by_default must be a bool, not str 'no'.": lambda w: Webhook(
        "https://a.example", HOOK, by_default=w("no")
    ),
    "Webhook.show_args must be a bool, not str 'false'.": lambda w: Webhook(
        "https://a.example", HOOK, show_args=w("false")
    ),
    "Webhook.per_second must be a number, not None.": lambda w: Webhook(
        "https://a.example", HOOK, per_second=w(None)
    ),
    'Webhook.scopes must be a list of scopes, such as ["team"], or None, not str '
    "'team'.": lambda _: Webhook("https://a.example", HOOK, scopes="team"),
    "Teams.url must be a str, not list.": lambda w: Teams(w([SECRET])),
    "Slack.token must be a str, not int.": lambda w: Slack(w(5), SECRET, "C1", plain),
    "Slack.people must be a function, not dict.": lambda w: Slack("xoxb", SECRET, "C1", w({})),
    "Smtp.sender must be a str, not int 5.": lambda w: Smtp("smtp://a.example", w(5), {}),
    "ChatAgent(model=…) must be a str, not int 5.": lambda w: ChatAgent(w(5)),
    "ChatAgent(api_key=…) must be a str or None, not list.": lambda w: ChatAgent(
        "m", api_key=w([SECRET])
    ),
    "ChatAgent(tools=…) must be a list, not function.": lambda w: ChatAgent("m", tools=w(plain)),
    "ChatAgent(timeout=…) must be a number, not bool True.": lambda w: ChatAgent(
        "m", timeout=w(True)
    ),
    "KeywordAdapter(agent=…) must be an Adapter or a function, not str 'a'.": lambda w: (
        KeywordAdapter(w("a"))
    ),
    "KeywordAdapter(phrases=…) must be a list of str, not str 'Please confirm'.": lambda _: (
        KeywordAdapter(agent, phrases="Please confirm")
    ),
    "KeywordAdapter(replies=…) must be a Replies or None, not dict.": lambda w: KeywordAdapter(
        agent, replies=w({})
    ),
    "serve(bridge=…) must be a Served, not str 'agents:bridge'.": lambda w: serve(
        w("agents:bridge")
    ),
    "serve(port=…) must be a whole number, not str '80'.": lambda w: serve(Bridge(), port=w("80")),
    "serve(anonymous=…) must be a bool, not str 'no'.": lambda w: serve(
        Bridge(), anonymous=w("no")
    ),
}

Call = Callable[[Bridge, Any], Awaitable[object]]

CALLED: Final[dict[str, Call]] = {
    "bridge.answer(ref=…) must be a str or a Reference, not None.": lambda b, w: b.answer(w(None)),
    "bridge.answer(cancel=…) must be a bool, not str 'no'.": lambda b, w: b.answer(
        "r", cancel=w("no")
    ),
    "bridge.answer(principal=…) must be a Principal or None, not str 'ann'.": lambda b, w: b.answer(
        "r", principal=w("ann")
    ),
    "bridge.pending(principal=…) must be a Principal or None, not str 'ann'.": lambda b, w: (
        b.pending(w("ann"))
    ),
    "bridge.pending(status=…) must be one of 'open', 'answered', 'claimed', 'resolved', "
    "'cancelled', 'expired', 'indeterminate' or None, not str 'wrong'.": lambda b, w: b.pending(
        status=w("wrong")
    ),
    "bridge.pending(limit=…) must be a whole number, not str '5'.": lambda b, w: b.pending(
        limit=w("5")
    ),
    "bridge.grants(principal=…) must be a Principal or None, not int 5.": lambda b, w: b.grants(
        w(5)
    ),
    "bridge.revoke_grant(id=…) must be a str, not int 5.": lambda b, w: b.revoke_grant(w(5)),
    "bridge.stop(thread=…) must be a str, not int 5.": lambda b, w: b.stop("ops", w(5)),
    "bridge.stop(force=…) must be a bool, not str 'no'.": lambda b, w: b.stop(
        "ops", "t", force=w("no")
    ),
    "bridge.stop(principal=…) must be a Principal or None, not str 'ann'.": lambda b, w: b.stop(
        "ops", "t", principal=w("ann")
    ),
    "bridge.resume(answers=…) must be a mapping, not list.": lambda b, w: b.resume(
        "ops", "t", w([])
    ),
    "bridge.resume(cancel=…) must be a list of str, not str 'i'.": lambda b, w: b.resume(
        "ops", "t", {}, cancel="i"
    ),
}


def wrong(value: Any) -> Any:
    """A value that no checker should judge."""
    return value


@pytest.mark.parametrize(("told", "make"), MADE.items(), ids=MADE)
def test_what_is_made_of_a_wrong_type_says_what_it_wants_and_what_it_got(
    told: str, make: Make
) -> None:
    with pytest.raises(Exception, match=r"must|is a function|is no Adapter") as caught:
        make(wrong)
    assert str(caught.value) == told
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("told", "call"), CALLED.items(), ids=CALLED)
async def test_so_does_what_a_bridge_is_asked(told: str, call: Call) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await call(Bridge(), wrong)
    assert str(caught.value) == told


async def test_what_fits_passes() -> None:
    bridge = Bridge(
        MemoryStore(),
        settings=Settings(),
        authenticate=plain,  # type: ignore[arg-type]  # never called
        allowed_hosts=("a.example",),
        cors_origins=["https://a.example"],
        audit_keys=[SECRET],
        inbox=Inbox(keys=[SECRET]),
        channels={"hook": Webhook("https://a.example", [HOOK], scopes=("team",))},
        telemetry=False,
    )
    bridge.agent("ops")(agent)
    assert (await bridge.pending(status=None)).rows == ()
    assert (await bridge.pending(status=wrong("open"))).rows == ()
    await bridge.aclose()


def test_a_name_of_a_place_may_be_one_of_the_others() -> None:
    @checked_arguments("f")
    def take(name: str, /, *more: int, key: str = "", **others: Any) -> tuple[Any, ...]:
        return name, more, key, others

    assert take("a", 1, key="k", name=5) == ("a", (1,), "k", {"name": 5})
    with pytest.raises(ConfigurationError, match=r"f\(name=…\) must be a str"):
        take(wrong(5))
    with pytest.raises(TypeError, match="missing"):
        take()  # type: ignore[call-arg]
