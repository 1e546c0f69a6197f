"""What clients forward reaches tools where each framework has a place, and only what is named."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from agent_framework import FunctionInvocationContext
from agno.run import RunContext
from google.adk.tools.tool_context import ToolContext as AdkContext
from llama_index.core.agent.workflow import FunctionAgent
from strands import Agent, tool as strands_tool
from strands.types.tools import ToolContext as StrandsContext
from workflows import Context

from agui_bridge import Adapter, Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge_llama_index import LlamaIndexAdapter
from agui_bridge_strands import StrandsAdapter
from examples.llama_index.model import OfflineModel as LlamaIndexModel
from examples.strands.model import OfflineModel
from tests.adapters.cashiers import CASHIERS, Cashier, by_place
from tests.adapters.cashiers.adk import Adk
from tests.adapters.cashiers.agent_framework import AgentFramework
from tests.adapters.cashiers.agno import Agno
from tests.adapters.cashiers.llama_index import LlamaIndex
from tests.adapters.cashiers.strands import Strands
from tests.docs.pages import Conversation

pytestmark = pytest.mark.timeout(120)

PROPS = {"tenant": "acme", "admin": True, "agui_bridge": {"newest": "m0"}}
ALL = {"tenant": "acme", "admin": True}


def agent_framework(found: list[Any], options: Any) -> Cashier:
    class Seeing(AgentFramework):
        def look(self, to: str, ctx: FunctionInvocationContext) -> str:  # type: ignore[override]
            found.append(ctx.kwargs.get("forwarded_props"))
            return f"saw {to}"

    return Seeing(by_place, options=options)


def agno(found: list[Any], options: Any) -> Cashier:
    class Seeing(Agno):
        def look(self, to: str, run_context: RunContext) -> str:  # type: ignore[override]
            found.append((run_context.dependencies or {}).get("forwarded_props"))
            return f"saw {to}"

    return Seeing(by_place, options=options)


def adk(found: list[Any], options: Any) -> Cashier:
    class Seeing(Adk):
        def look(self, to: str, tool_context: AdkContext) -> str:  # type: ignore[override]
            config: Any = tool_context.get_invocation_context().run_config
            found.append((config.custom_metadata or {}).get("forwarded_props"))
            return f"saw {to}"

    return Seeing(by_place, options=options)


def llama_index(found: list[Any], options: Any) -> Cashier:
    async def look(ctx: Any, to: str) -> str:
        """Look somebody up."""
        found.append(await ctx.store.get("forwarded_props", default=None))
        return f"saw {to}"

    # LlamaIndex takes the parameter for the context by its type, which must be no text.
    look.__annotations__.update(ctx=Context, to=str)

    class Seeing(LlamaIndex):
        def adapter(self) -> Adapter:
            agent = FunctionAgent(llm=LlamaIndexModel(self._stream), tools=[look])
            return LlamaIndexAdapter(agent, **self.options)

    return Seeing(by_place, options=options)


def strands(found: list[Any], options: Any) -> Cashier:
    @strands_tool(context=True)
    def look(to: str, tool_context: StrandsContext) -> str:
        """Look somebody up."""
        found.append(tool_context.invocation_state.get("forwarded_props"))
        return f"saw {to}"

    class Seeing(Strands):
        def adapter(self) -> Adapter:
            agent = Agent(
                model=OfflineModel(self._stream), tools=[look], name="x", callback_handler=None
            )
            return StrandsAdapter(agent, **self.options)

    return Seeing(by_place, options=options)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (None, None),
        (False, None),
        (["tenant"], {"tenant": "acme"}),
        (["other"], None),
        (True, ALL),
    ],
    ids=["by default", "none", "a name", "another name", "all"],
)
@pytest.mark.parametrize("build", [agent_framework, agno, adk, llama_index, strands])
async def test_tools_find_what_the_author_lets_through(
    build: Callable[[list[Any], Any], Cashier], names: Any, expected: Any
) -> None:
    found: list[Any] = []
    options = {} if names is None else {"forwarded_props": names}
    cashier, bridge = build(found, options), Bridge("memory:")
    bridge.add("cashier", cashier.adapter())
    one = Conversation(bridge, "cashier")
    async with bridge.lifespan():
        said = {"id": "m1", "role": "user", "content": "look bob"}
        assert await one._send(messages=[said], forwardedProps=PROPS) == "Done."
        # What one run was given is nothing that the next one has.
        said = {"id": "m2", "role": "user", "content": "look eve"}
        assert await one._send(messages=[said]) == "Done."
    assert found == [expected, None]
    assert all("acme" not in str(request) for request in cashier.requests)


@pytest.mark.parametrize(
    "name", ["agent_framework", "agno", "adk", "llama_index", "strands", "langgraph"]
)
@pytest.mark.parametrize("wrong", ["tenant", 1, [1], {"tenant": 1}], ids=str)
def test_what_is_no_list_of_names_is_refused(name: str, wrong: Collection[str]) -> None:
    with pytest.raises(ConfigurationError, match="should be a list of names, or True"):
        CASHIERS[name](by_place, options={"forwarded_props": wrong}).adapter()
