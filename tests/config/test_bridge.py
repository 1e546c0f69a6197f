"""What a configuration file can say becomes a bridge."""

from pathlib import Path

import pytest

from agui_bridge import Principal
from agui_bridge.config import bridge_from
from agui_bridge.engine.telemetry import NO_TELEMETRY
from agui_bridge.errors import ConfigurationError
from tests.config.files import SECRET, loaded, written
from tests.docs.pages import Conversation


def test_a_file_becomes_a_bridge_with_its_store_settings_and_agents(folder: Path) -> None:
    text = """
        store: sqlite:///agents.db
        settings: {stop_timeout: 5, expires_in: null, history: client}
        policy: shop_for_config:judge
        agents:
          orders:
            function: shop_for_config:orders
            settings: {keep_alive: 3}
          made:
            object: shop_for_config:adapter
            description: Made elsewhere.
    """
    bridge = bridge_from(written(folder, text, agents=""))

    assert bridge.store == "sqlite:///agents.db"
    assert (bridge.settings.stop_timeout, bridge.settings.history) == (5, "client")
    assert [agent.description for agent in bridge.agents.values()] == [
        "Looks after orders.",
        "Made elsewhere.",
    ]
    assert [agent.settings.keep_alive for agent in bridge.agents.values()] == [3, 15]
    assert all(agent.policy is not None for agent in bridge.agents.values())


async def test_an_agent_that_asks_in_words_is_paused_and_told_what_was_answered(
    folder: Path,
) -> None:
    text = """
        agents:
          echo:
            function: shop_for_config:echo
            keyword:
              phrases: ["[y/n]"]
              fields:
                - {name: confirm, type: confirm, label: Sure, required: true}
                - {name: why, label: Why}
              replies: {"yes": "Do it.", values: [sure, never]}
    """
    bridge = bridge_from(written(folder, text, agents=""))
    async with bridge.lifespan():
        talk = Conversation(bridge, "echo")
        await talk.say("Deploy? [y/n]")
        (ask,) = talk.asks
        said = await talk.answer({"confirm": True, "why": "late"})

    assert (ask["reason"], ask["message"]) == ("confirmation", "Deploy? [y/n]")
    assert list(ask["responseSchema"]["properties"]) == ["confirm", "why"]
    assert "Do it." in said
    assert "Why: late" in said


def test_tokens_say_who_asks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNS_TOKEN", SECRET)
    text = "authentication: {bearer: [{token_env: ANNS_TOKEN, scope: team, actor: ann}]}\n"
    bridge = loaded(folder, text).bridge()

    from starlette.requests import Request

    headers = [(b"authorization", f"Bearer {SECRET}".encode())]
    assert bridge.authenticate is not None
    assert bridge.authenticate(Request({"type": "http", "headers": headers})) == Principal(
        "team", "ann"
    )


def test_a_hook_says_who_asks(folder: Path) -> None:
    bridge = loaded(folder, "authentication: {hook: shop_for_config:who}\n").bridge()
    assert bridge.authenticate is not None and bridge.authenticate.__name__ == "who"


def test_hosts_and_origins_reach_the_bridge(folder: Path) -> None:
    text = """
        allowed_hosts: [agents.example]
        cors_origins: [https://app.example]
        cors_origin_regex: https://.*\\.example
    """
    assert loaded(folder, text).bridge().allowed_hosts == ("agents.example",)


@pytest.mark.parametrize(
    ("text", "base"),
    [("", "/copilotkit"), ("copilotkit: /kit\n", "/kit"), ("copilotkit: null\n", None)],
)
def test_a_file_says_where_copilotkits_routes_stand(
    folder: Path, text: str, base: str | None
) -> None:
    assert loaded(folder, text).bridge().copilotkit == base


@pytest.mark.parametrize("wanted", [False, True])
def test_a_file_says_whether_there_is_a_playground(folder: Path, wanted: bool) -> None:
    text = f"playground: {str(wanted).lower()}\n" if wanted else ""
    assert loaded(folder, text).bridge().playground is wanted


@pytest.mark.parametrize(("text", "told"), [("", True), ("telemetry: false\n", False)])
def test_opentelemetry_is_told_unless_the_file_says_otherwise(
    folder: Path, text: str, told: bool
) -> None:
    assert (loaded(folder, text).bridge().telemetry is not NO_TELEMETRY) is told


def test_a_file_says_how_people_reach_their_questions(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEW_KEY", "a new key of sixteen bytes")
    monkeypatch.setenv("OLD_KEY", "an old key of sixteen bytes")
    text = """
        inbox:
          url: https://agents.example
          key_env: [NEW_KEY, OLD_KEY]
          link_ttl: 3600
          login_url: https://agents.example/login
    """
    inbox = bridge_from(written(folder, text)).inbox
    assert (inbox.url, inbox.link_ttl) == ("https://agents.example", 3600)
    assert inbox.login_url == "https://agents.example/login"
    assert inbox.keys == ("a new key of sixteen bytes", "an old key of sixteen bytes")
    assert not bridge_from(written(folder, "")).references.signed


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("{key_env: [NO_SUCH_KEY]}", "inbox: the environment variable NO_SUCH_KEY is missing"),
        ("{key_env: [SHORT_KEY]}", "fewer than 16 bytes"),
        ("{url: agents.example}", "url must be a whole address"),
        ("{link_ttl: 0}", "link_ttl"),
        ("{path: /inbox}", "path"),
    ],
)
def test_an_inbox_that_can_not_work_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, value: str, told: str
) -> None:
    monkeypatch.setenv("SHORT_KEY", "brief")
    with pytest.raises(ConfigurationError) as refused:
        bridge_from(written(folder, f"\n        inbox: {value}\n    "))
    assert told in str(refused.value)
    assert "brief" not in str(refused.value)
