"""What an author declares of an agent reaches clients, beside what the bridge knows."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import AgentCapabilities

from agui_bridge import Bridge, FunctionRun
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.errors import ConfigurationError
from tests.support.server import client, serve


async def greet(run: FunctionRun) -> str:
    return "Hello."


OWN: Any = {
    "identity": {"provider": "Example"},
    "tools": {"supported": True, "clientProvided": False},
    "multimodal": {"input": {"image": True}},
    "custom": {"region": "eu"},
}


async def test_an_authors_word_stands_beside_the_bridges() -> None:
    bridge = Bridge("memory:")
    bridge.add("greeter", FunctionAdapter(greet), capabilities=OWN)
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        told = (await http.get("/agents/greeter/capabilities")).json()
    assert AgentCapabilities.model_validate(told).model_extra == {}
    assert told["identity"]["provider"] == "Example"
    assert told["identity"]["name"] == "greeter"
    assert [told[key] for key in ("tools", "multimodal", "custom")] == [
        OWN[key] for key in ("tools", "multimodal", "custom")
    ]
    assert told["humanInTheLoop"]["supported"] is True


@pytest.mark.parametrize(
    ("capabilities", "fault"),
    [
        ({"transport": {"streaming": False}}, "capabilities.transport is what the bridge tells"),
        ({"identity": {"name": "other"}}, "capabilities.identity.name is what the bridge tells"),
        ({"tools": {"supported": "perhaps"}}, "capabilities.tools.supported"),
        ({"vision": True}, "AG-UI knows no capabilities.vision"),
    ],
)
def test_what_is_unfit_or_the_bridges_own_is_refused(capabilities: Any, fault: str) -> None:
    bridge = Bridge("memory:")
    with pytest.raises(ConfigurationError) as refused:
        bridge.add("greeter", FunctionAdapter(greet), capabilities=capabilities)
    assert fault in str(refused.value)
    assert bridge.agents == {}
