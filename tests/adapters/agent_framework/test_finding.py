"""An agent of the Agent Framework is recognised; what can't be served is refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseAgent,
    HistoryProvider,
    Message,
    MiddlewareBundle,
    ToolApprovalMiddleware,
    _sessions,
)

from agui_bridge import Bridge, Principal, Run
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import agents as flow, as_agent, below
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


def test_the_wrapper_of_the_frameworks_own_server_is_refused_with_what_to_give() -> None:
    members = {"__module__": "agent_framework_ag_ui._agent", "agent": Mailer().agent}
    wrapped = type("AgentFrameworkAgent", (), members)()
    with pytest.raises(ConfigurationError, match="AgentFrameworkAgent is for the server of"):
        Bridge("memory:").add("mailer", wrapped)


@pytest.mark.parametrize("gone", ["the sentinel", "the closure"])
def test_a_framework_without_what_the_guard_looks_at_is_refused(
    gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if gone == "the sentinel":
        monkeypatch.delattr(_sessions, "LOCAL_HISTORY_CONVERSATION_ID")
    else:
        monkeypatch.setattr(BaseAgent, "as_tool", lambda self: None)
    with pytest.raises(ConfigurationError, match=r"agent-framework-core \d.* is not one that"):
        AgentFrameworkAdapter(Mailer().agent)


def test_an_agent_without_middleware_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="takes no middleware"):
        Bridge("memory:").add("flow", flow(Mailer().agent).as_agent())


class Careless(ToolApprovalMiddleware):
    """Approves calls in a way of its own."""


@pytest.mark.parametrize("is_in_bundle", [False, True])
@pytest.mark.filterwarnings("ignore:.* is experimental and may change")
async def test_an_agent_that_approves_calls_in_a_way_of_its_own_is_refused(
    is_in_bundle: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mailer = Mailer()
    own: Any = MiddlewareBundle([Careless()]) if is_in_bundle else Careless()
    agent = Agent(mailer.client, name="mailer", middleware=[own])
    why = "has Careless, which approves calls in a way of its own. Leave it out"
    with pytest.raises(ConfigurationError, match=why):
        Bridge("memory:").add("it", agent)

    bridge = Bridge("memory:")
    bridge.add("by-run", AgentFrameworkAdapter(lambda _: agent))
    for name, wrapped in {"flow": flow, "inner": _inner, "nested": _nested}.items():

        def build(_: Run, wrapped: Any = wrapped) -> Any:
            return wrapped(agent)

        bridge.add(name, AgentFrameworkAdapter(build, checkpoints=tmp_path))
    for name in ("by-run", "flow", "inner", "nested"):
        async with talk(bridge, name) as one:
            assert (await one.say("send bob")).ending == "AGENT_ERROR"
        assert re.search(why, caplog.text), name
        caplog.clear()
    assert (mailer.requests, mailer.done) == ([], [])


def _inner(agent: Any) -> Any:
    return below(flow(agent))


def _nested(agent: Any) -> Any:
    return as_agent(flow(agent))


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
