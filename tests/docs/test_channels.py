"""docs/channels.md does what it says."""

from __future__ import annotations

import sys
import typing
from pathlib import Path

import pytest

from agui_bridge import Principal
from agui_bridge.channels import Slack, SlackUser, Smtp, Teams, Webhook
from agui_bridge.channels.notice import Event
from agui_bridge.channels.postman import SCHEDULE
from agui_bridge.config import bridge_from
from tests.channels.bridges import SECRET
from tests.docs.pages import ROOT, run_page, snippets_of
from tests.support.own_modules import importing_own

PAGE = ROOT / "docs" / "channels.md"
KINDS = {"ops": Slack, "mail": Smtp, "teams": Teams, "hook": Webhook}
DBA = Principal(actor="bob", roles=frozenset({"dba"}))


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "INBOX_KEY": "a key of the page 0123456789",
        "SLACK_TOKEN": "xoxb-token",
        "SLACK_SECRET": "signing",
        "SMTP_URL": "smtp://mail.example",
        "TEAMS_URL": "https://teams.example/hook",
        "HOOK_URL": "https://hooks.example/agents",
        "HOOK_SECRET": SECRET,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)


async def test_the_bridge_of_the_page_has_its_channels() -> None:
    page = await run_page(PAGE)
    channels = page["bridge"].channels

    assert {name: type(channel) for name, channel in channels.items()} == KINDS
    assert channels["ops"].people(SlackUser("U012AB3CD", "T1")) == Principal(actor="bob")
    assert channels["ops"].people(SlackUser("U9", "T1")) is None
    assert page["mail"].to == {DBA: "bob@example.org"}


def test_the_files_of_the_page_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    agent = "def who(user):\n    return None\n\nasync def one(run):\n    yield 'x'\n"
    (tmp_path / "agents.py").write_text(agent)
    (_, whole), (_, of_a_scope), (_, with_roles) = snippets_of(PAGE, "yaml")
    file = tmp_path / "bridge.yaml"
    with importing_own("agents"):
        file.write_text(whole + "agents: {one: {function: agents:one}}\n")
        channels = bridge_from(file).channels
        file.write_text(of_a_scope + "agents: {one: {function: agents:one}}\n")
        teams_mail = bridge_from(file).channels["mail"]
        file.write_text(with_roles + "agents: {one: {function: agents:one}}\n")
        mail = bridge_from(file).channels["mail"]

    assert {name: type(channel) for name, channel in channels.items()} == KINDS
    assert isinstance(mail, Smtp) and isinstance(teams_mail, Smtp)
    assert mail.named_people() == (DBA, Principal(actor="eve"))
    assert teams_mail.named_people() == (Principal("team", "bob"),)


def test_the_page_names_every_event_and_the_schedule_that_is_kept() -> None:
    text = PAGE.read_text(encoding="utf-8")
    events = set(typing.get_args(Event)) - {"test"}

    assert [event for event in events if f"`{event}`" not in text] == []
    assert "it is tried ten times in 75 hours (after 5 s, 5 min, 30 min, 2 h, …)" in text.replace(
        "\n  ", " "
    )
    assert len(SCHEDULE) + 1 == 10
    assert int(sum(SCHEDULE) / 3600) == 75
    assert tuple(SCHEDULE[:4]) == (5, 300, 1800, 7200)
