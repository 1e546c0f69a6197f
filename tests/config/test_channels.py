"""`channels`: each type becomes its channel; what is missing or too much is named."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agui_bridge import Principal
from agui_bridge.channels import Channel, Slack, Smtp, Teams, Webhook
from tests.channels.bridges import SECRET
from tests.config.files import MODULE, loaded, refused

SLACK = (
    "{type: slack, token_env: A_TOKEN, signing_secret_env: A_SECRET, channel: C1, "
    "people: people_for_channels:who}"
)
SMTP = "{type: smtp, url_env: AN_URL, sender: bridge@example.org, to: {bob: bob@example.org}}"
TEAMS = "{type: teams, url_env: AN_URL}"
WEBHOOK = "{type: webhook, url_env: AN_URL, secret_env: A_SECRET}"

VALUES: Mapping[str, Mapping[str, str]] = {
    SLACK: {"A_TOKEN": "xoxb-token", "A_SECRET": "signing"},
    SMTP: {"AN_URL": "smtp://user:password@mail.example"},
    TEAMS: {"AN_URL": "https://teams.example/hook"},
    WEBHOOK: {"AN_URL": "https://hooks.example/agents", "A_SECRET": SECRET},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "people_for_channels.py").write_text("def who(user):\n    return None\n")
    (tmp_path / "shop_for_config.py").write_text(MODULE)
    return tmp_path


def channel(folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str, more: str = "") -> Channel:
    """What becomes of an entry, with the values of its variables."""
    for variable, value in VALUES[entry].items():
        monkeypatch.setenv(variable, value)
    text = f"channels:\n  one: {entry[:-1]}{more}}}\n"
    return loaded(folder, text).bridge().channels["one"]


@pytest.mark.parametrize(
    ("entry", "kind"), [(SLACK, Slack), (SMTP, Smtp), (TEAMS, Teams), (WEBHOOK, Webhook)]
)
def test_each_type_becomes_its_channel(
    folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str, kind: type[Channel]
) -> None:
    made = channel(folder, monkeypatch, entry)
    more = ", by_default: false, show_args: true, per_second: 0.5"
    other = channel(folder, monkeypatch, entry, more)

    assert type(made) is kind
    assert (made.by_default, made.show_args) == (True, False)
    assert made.per_second == (1 if kind is Slack else 10)
    assert (other.by_default, other.show_args, other.per_second) == (False, True, 0.5)


def test_values_come_from_the_environment_and_are_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack, smtp, teams, webhook = (channel(folder, monkeypatch, entry) for entry in VALUES)

    assert isinstance(slack, Slack) and isinstance(smtp, Smtp)
    assert isinstance(teams, Teams) and isinstance(webhook, Webhook)
    assert (slack.token, slack.signing_secret, slack.channel) == ("xoxb-token", "signing", "C1")
    assert (smtp.url, smtp.sender) == (VALUES[SMTP]["AN_URL"], "bridge@example.org")
    assert teams.url == VALUES[TEAMS]["AN_URL"]
    assert (webhook.url, webhook.secret) == (VALUES[WEBHOOK]["AN_URL"], [SECRET])
    shown = repr((slack, smtp, teams, webhook))
    for secret in ("xoxb-token", "signing'", "password", "teams.example", SECRET):
        assert secret not in shown


def test_two_secrets_of_a_webhook_sign_both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AN_URL", "https://hooks.example/agents")
    monkeypatch.setenv("A_SECRET", f"{SECRET} {SECRET}")
    made = loaded(folder, f"channels: {{one: {WEBHOOK}}}\n").bridge().channels["one"]

    assert isinstance(made, Webhook)
    assert made.secret == [SECRET, SECRET]


DBA = frozenset({"dba"})
BOTH = "{bob: {address: bob@example.org, roles: [dba], scopes: [team, other]}}"
MIXED = "{bob: {address: bob@example.org, roles: [dba], scopes: [team]}, eve: eve@example.org}"


@pytest.mark.parametrize(
    ("signing_in", "more", "to", "people"),
    [
        ("", "", None, [Principal("default", "bob")]),
        ("team", "", None, [Principal("team", "bob")]),
        ("team", "", MIXED, [Principal("team", "bob", DBA), Principal("team", "eve")]),
        ("team other", ", scopes: [team]", None, [Principal("team", "bob")]),
        ("hook", ", scopes: [team]", None, [Principal("team", "bob")]),
        ("team other", "", BOTH, [Principal("team", "bob", DBA, ("other",))]),
        ("hook", ", scopes: ['*']", BOTH, [Principal("team", "bob", DBA, ("other",))]),
    ],
)
def test_people_who_get_mails_are_of_the_scopes_of_the_file(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    signing_in: str,
    more: str,
    to: str | None,
    people: list[Principal],
) -> None:
    monkeypatch.setenv("AN_URL", "smtp://mail.example")
    entry = SMTP.replace("{bob: bob@example.org}", to) if to else SMTP
    text = f"{authentication(signing_in)}channels: {{one: {entry[:-1]}{more}}}}}\n"
    made = loaded(folder, text).bridge().channels["one"]

    assert isinstance(made, Smtp)
    assert list(made.named_people()) == people


@pytest.mark.parametrize("entry", VALUES)
@pytest.mark.parametrize(
    ("signing_in", "why"),
    [
        ("team other", "There are several scopes ('other', 'team'). Say whose questions"),
        ("hook", "The function that authenticates may give any scope. Say whose questions"),
    ],
)
def test_a_channel_that_says_no_scope_is_refused_where_there_may_be_several(
    folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str, signing_in: str, why: str
) -> None:
    for variable, value in VALUES[entry].items():
        monkeypatch.setenv(variable, value)
    text = f"{authentication(signing_in)}channels:\n  one: {entry}\n"

    assert f"bridge.yaml:3: channels.one: {why}" in refused(folder, text)


@pytest.mark.parametrize("to", [None, MIXED])
def test_a_plain_name_in_a_channel_of_several_scopes_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, to: str | None
) -> None:
    monkeypatch.setenv("AN_URL", "smtp://mail.example")
    entry = SMTP.replace("{bob: bob@example.org}", to) if to else SMTP
    text = (
        f"{authentication('team other')}channels:\n  one: {entry[:-1]}, scopes: [team, other]}}\n"
    )

    said = refused(folder, text)
    assert f"channels.one: '{'eve' if to else 'bob'}' is a plain name" in said
    assert "told of 'other', 'team'" in said


def authentication(scopes: str) -> str:
    """The line that says who signs in: a bob of each scope, or whom a function gives."""
    if scopes == "hook":
        return "authentication: {hook: shop_for_config:who}\n"
    tokens = [
        f"{{token: the-token-of-bob-of-{scope}, actor: bob, scope: {scope}}}"
        for scope in scopes.split()
    ]
    return f"authentication: {{bearer: [{', '.join(tokens)}]}}\n" if tokens else ""


@pytest.mark.parametrize(
    ("entry", "variable"),
    [(entry, variable) for entry, values in VALUES.items() for variable in values],
)
@pytest.mark.parametrize("empty", [True, False])
def test_a_variable_that_is_not_set_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str, variable: str, empty: bool
) -> None:
    for name, value in VALUES[entry].items():
        monkeypatch.setenv(name, value)
    if empty:
        monkeypatch.setenv(variable, "")
    else:
        monkeypatch.delenv(variable)
    said = refused(folder, f"channels:\n  one: {entry}\n")

    assert f"the environment variable {variable} is not set" in said
    assert "channels.one" in said
    for value in VALUES[entry].values():
        assert value not in said


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{type: pager}", "bridge.yaml:2: channels.one.type: must be one of 'webhook', 'slack'"),
        ("{url_env: AN_URL}", "channels.one.type: is missing"),
        ("{type: teams}", "a channel of type teams needs `url_env`"),
        ("{type: webhook, url_env: A}", "a channel of type webhook needs `secret_env`"),
        ("{type: smtp, url_env: A, sender: b@c.d}", "a channel of type smtp needs `to`"),
        ("{type: slack, token_env: A}", "a channel of type slack needs `signing_secret_env`"),
        (TEAMS[:-1] + ", to: {a: a@b.c}}", "a channel of type teams has no `to`"),
        (TEAMS[:-1] + ", per_second: 0}", "channels.one.per_second: must be above 0"),
        (TEAMS[:-1] + ", url: x}", "channels.one.url: unknown key"),
        (SMTP.replace("bob@example.org", "7"), "channels.one.to.bob: must be a mapping"),
        (
            SMTP.replace("bob@example.org", "{adress: bob@example.org}"),
            "channels.one.to.bob.adress: unknown key; did you mean 'address'?",
        ),
        (
            SMTP.replace("bob@example.org", "{address: bob@example.org, roles: dba}"),
            "channels.one.to.bob.roles: must be a list",
        ),
        (
            SMTP.replace("bob@example.org", "{address: bob@example.org, scopes: []}"),
            "channels.one.to.bob.scopes: must not be empty",
        ),
        (TEAMS[:-1] + ", scopes: []}", "channels.one.scopes: must not be empty"),
        (TEAMS[:-1] + ", scopes: team}", "channels.one.scopes: must be a list"),
        (SLACK.replace("people_for_channels:who", "nobody"), "channels.one.people: must be"),
    ],
)
def test_what_is_wrong_in_an_entry_is_named(folder: Path, entry: str, said: str) -> None:
    assert said in refused(folder, f"channels:\n  one: {entry}\n")


def test_a_mail_address_of_the_file_that_is_none_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AN_URL", "smtp://mail.example")
    entry = SMTP.replace("{bob: bob@example.org}", "{bob: {address: bob, roles: [dba]}}")

    assert "'bob' is no mail address" in refused(folder, f"channels: {{one: {entry}}}\n")
