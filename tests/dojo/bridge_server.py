"""The example agents behind the bridge: `python -m tests.dojo.bridge_server CHECKOUT PORT MOCK`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import uvicorn

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from tests.dojo.examples import PROXIED, STATES, Example, environment, examples


def bridge_of(found: list[Example]) -> Bridge:
    """A bridge with all of them, each as its author gives it to the official server."""
    bridge = Bridge("memory:")
    for example in found:
        try:
            bridge.add(example.name, _agent(example), **_settings(example))
        except ConfigurationError as refused:
            # Its pages will find nobody, and its specs fail.
            print(f"refused: {example.name}: {refused}", flush=True)
    return bridge


def _agent(example: Example) -> Any:
    """What `bridge.add` takes: the author's object, but where a setting stands beside it."""
    if example.framework == "pydantic-ai" and example.feature in STATES:
        from pydantic_ai.ui import StateDeps

        from agui_bridge_pydantic_ai import PydanticAIAdapter

        state = getattr(example.module, STATES[example.feature])
        return PydanticAIAdapter(example.agent, deps=StateDeps(state()))
    if example.framework in PROXIED:
        from agui_bridge_agui import AguiAdapter

        return AguiAdapter(f"{os.environ['DOJO_PROXIED']}/agents/{example.name}")
    if example.framework == "agent-framework" and hasattr(_unwrapped(example.agent), "config"):
        from agui_bridge_agent_framework import AgentFrameworkAdapter

        wrapper = _unwrapped(example.agent)
        config = wrapper.config
        return AgentFrameworkAdapter(
            wrapper.agent,
            state_schema=config.state_schema,
            predict_state=config.predict_state_config,
        )
    return example.agent


def _unwrapped(agent: Any) -> Any:
    """An `AgentFrameworkAgent`, without the class of an example that makes events itself."""
    return getattr(agent, "_base_agent", agent)


def _settings(example: Example) -> dict[str, Any]:
    """LangGraph's pages listen to `on_interrupt`, and to nothing else where both come."""
    return {"dialect": "langgraph"} if example.framework == "langgraph" else {}


def main() -> None:
    """Serve them until the process is ended."""
    checkout, port, mock, *frameworks = sys.argv[1:]
    environment(mock)
    bridge = bridge_of(examples(Path(checkout), tuple(frameworks)))
    uvicorn.run(bridge.app(anonymous=True), host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
