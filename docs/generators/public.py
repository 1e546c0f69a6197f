"""The page of what is public: packages, and the names in each one's `__all__`."""

from __future__ import annotations

import importlib
from typing import Final

PACKAGES: Final = (
    "agui_bridge",
    "agui_bridge.adapters",
    "agui_bridge.channels",
    "agui_bridge.policy",
    "agui_bridge.approvals",
    "agui_bridge.tool_gate",
    "agui_bridge.frameworks.item_queue",
    "agui_bridge.frameworks.turn",
    "agui_bridge.import_object",
    "agui_bridge.errors",
    "agui_bridge.agents.chat",
    "agui_bridge.agents.keyword",
    "agui_bridge.mcp",
    "agui_bridge.agent_file",
    "agui_bridge.config",
    "agui_bridge.fastapi",
    "agui_bridge.http.server",
    "agui_bridge.http.request_heads",
    "agui_bridge.client",
    "agui_bridge.testing",
    "agui_bridge.conformance",
    "agui_bridge.conformance.pytest_plugin",
    "agui_bridge.inbox",
    "agui_bridge.logs",
    "agui_bridge.otel",
    "agui_bridge.stores.base",
    "agui_bridge.protocol.wire.sse",
    "agui_bridge_a2a",
    "agui_bridge_acp",
    "agui_bridge_adk",
    "agui_bridge_agent_framework",
    "agui_bridge_agno",
    "agui_bridge_agui",
    "agui_bridge_claude",
    "agui_bridge_dbos",
    "agui_bridge_langgraph",
    "agui_bridge_langgraph_server",
    "agui_bridge_llama_index",
    "agui_bridge_mastra",
    "agui_bridge_nexau",
    "agui_bridge_openai_agents",
    "agui_bridge_pydantic_ai",
    "agui_bridge_strands",
    "agui_bridge_superagent",
    "agui_bridge_temporal",
    "agui_bridge_temporal.workflow",
    "agui_bridge_webhook",
)
"""Whatever a page or an example imports, and what authors of adapters and stores implement."""

_HEAD = """\
# What is public

Made from each package's `__all__` by `make docs`.

What is listed here is kept stable from one version to the next. All else may change in any version:
other modules, and names that a listed module has outside its `__all__`. Import a name from where it
is listed.

- **A listed name goes in two steps.** One minor version marks it: using it still works and raises a
  `DeprecationWarning` that names what to use, and the [changelog](../CHANGELOG.md) says so under
  "Deprecated". The next minor version at the earliest removes it. A patch version removes nothing.
- **A function may get arguments, a class members.** New arguments are optional; pass all but the
  first by name.
- **A protocol that your code implements may get a method**, such as `Adapter` or `Store`. A minor
  version brings it, and the changelog says so under "Changed".
- **Type checkers see it all.** Every package is marked `py.typed`.

Stable besides, each with a page of its own: the [commands](command-line.md), the
[configuration file](configuration.md), the [error codes](errors.md), and what goes
[over the wire](contract.md) (its shapes are in [`schemas/`](../schemas)).

[The reference](reference.md) explains the names of `agui_bridge`, docstrings the others.

| import from | what it is | names |
|---|---|---|
"""


def public_page() -> str:
    """The whole page, as Markdown.

    Raises:
        ModuleNotFoundError: a package in `PACKAGES` is gone.
        AttributeError: one has no `__all__`.
    """
    rows = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        line = (module.__doc__ or "").partition("\n")[0]
        names = ", ".join(f"`{name}`" for name in module.__all__)
        rows.append(f"| `{package}` | {line} | {names} |\n")
    return _HEAD + "".join(rows)
