"""An agent of the Agent Framework is recognised; what can't be served is refused with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from agent_framework import Agent, HistoryProvider, Message

from agui_bridge import Bridge, Principal, Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import agents as flow
from tests.adapters.agent_framework.mailer import Mailer
from tests.adapters.agent_framework.talking import serving
from tests.adapters.finding import Finding

pytestmark = pytest.mark.anyio


class TestFinding(Finding):
    adapter = AgentFrameworkAdapter
    name = "agent_framework"
    package = "agent_framework"
    function = "kwargs"

    @pytest.fixture
    def agent(self) -> Any:
        return Mailer().agent


async def test_each_run_may_have_an_agent_of_its_own_and_tools_know_whose_it_is() -> None:
    done: list[Any] = []

    def made(run: Run) -> Any:
        return Mailer(done.append).agent

    bridge = Bridge("memory:")

    def who(run: Run) -> dict[str, Any]:
        return {"who": run.principal.actor}

    bridge.add("mailer", AgentFrameworkAdapter(made, kwargs=who))
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        assert (await one.say("count")).ending == "success"
    assert done == [(1, "ann")]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"agent": 5}, "agent should be an Agent"),
        ({"checkpoints": 5}, "checkpoints should be a Path"),
        ({"kwargs": 5}, "kwargs should be a function"),
    ],
)
def test_what_is_none_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        AgentFrameworkAdapter(**{"agent": Mailer().agent, **options})


def test_an_agent_without_middleware_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="takes no middleware"):
        Bridge("memory:").add("flow", flow(Mailer().agent).as_agent())


class Elsewhere(HistoryProvider):
    """Keeps messages."""

    def __init__(self, **options: Any) -> None:
        super().__init__("elsewhere", **options)
        self.kept: list[Message] = []

    async def get_messages(self, session_id: str | None, **_: Any) -> list[Message]:
        return list(self.kept)

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], **_: Any
    ) -> None:
        self.kept += messages


def test_a_history_that_is_kept_elsewhere_is_refused() -> None:
    agent = Agent(Mailer().client, name="mailer", context_providers=[Elsewhere()])
    with pytest.raises(ConfigurationError, match="the model would be told it twice"):
        Bridge("memory:").add("mailer", agent)


async def test_a_provider_that_keeps_the_history_besides_is_let_be() -> None:
    mailer, provider = Mailer(), Elsewhere(load_messages=False)
    mailer.agent = Agent(mailer.client, name="mailer", context_providers=[provider])
    async with talk(serving(mailer), "mailer") as one:
        await one.say("hello")
        await one.say("hello again")
    assert mailer.told().count('"hello"') == 1
    assert len(provider.kept) == 4
