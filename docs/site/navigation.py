"""Which page stands where in the site's navigation, and which pages stand nowhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

SECTIONS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "Start": (
        ("agui-bridge", "index.md"),
        ("1. An agent", "tutorial/1-agent.md"),
        ("2. An approval", "tutorial/2-approval.md"),
        ("3. A page", "tutorial/3-page.md"),
        ("4. Production", "tutorial/4-production.md"),
        ("How it works", "how-it-works.md"),
        ("Examples", "examples/index.md"),
    ),
    "Agents": (
        ("All frameworks", "frameworks.md"),
        ("Pydantic AI", "pydantic-ai.md"),
        ("OpenAI Agents SDK", "openai-agents.md"),
        ("LangGraph, LangChain", "langgraph.md"),
        ("Google ADK", "adk.md"),
        ("Strands", "strands.md"),
        ("LlamaIndex", "llama-index.md"),
        ("Agno", "agno.md"),
        ("Microsoft Agent Framework", "agent-framework.md"),
        ("Claude Agent SDK", "claude.md"),
        ("CrewAI", "crewai.md"),
        ("LangGraph's server", "langgraph-server.md"),
        ("Mastra", "mastra.md"),
        ("NexAU", "nexau.md"),
        ("SuperAgent", "superagent.md"),
        ("A2A agents", "a2a.md"),
        ("Workflow tools: n8n", "webhook.md"),
        ("Temporal", "temporal.md"),
        ("DBOS workflows", "dbos.md"),
        ("Restate services", "restate.md"),
        ("Coding agents (ACP)", "acp-agents.md"),
        ("Any AG-UI endpoint", "proxy.md"),
        ("Functions", "function-agents.md"),
        ("Models with tools", "chat-agents.md"),
        ("Tools of MCP servers", "mcp.md"),
        ("Agents that ask in words", "keyword-agents.md"),
        ("Auto-resume", "auto-resume.md"),
        ("Testing an agent", "testing.md"),
    ),
    "Frontends": (
        ("All clients", "frontends.md"),
        ("CopilotKit", "copilotkit.md"),
        ("assistant-ui", "assistant-ui.md"),
        ("TanStack AI", "tanstack-ai.md"),
        ("Vue", "vue.md"),
        ("AGUIChatClient", "agui-chat-client.md"),
        ("Python and the terminal", "python-client.md"),
        ("MCP clients", "mcp-server.md"),
        ("Other agents (A2A)", "a2a-server.md"),
        ("Editors", "acp.md"),
        ("A2UI surfaces", "a2ui.md"),
        ("Reconnecting", "reconnecting.md"),
        ("Stopping", "stopping.md"),
        ("Errors", "errors.md"),
        ("Dialects", "dialects.md"),
        ("Versions of AG-UI", "versions.md"),
    ),
    "People": (
        ("Who may answer", "approvals.md"),
        ("The inbox", "inbox.md"),
        ("Channels", "channels.md"),
        ("Remembered approvals", "remembered.md"),
        ("The audit", "audit.md"),
    ),
    "Operations": (
        ("Deployment", "deployment.md"),
        ("Kubernetes", "kubernetes.md"),
        ("FastAPI", "fastapi.md"),
        ("Configuration", "configuration.md"),
        ("Commands", "command-line.md"),
        ("SQLite", "stores-sqlite.md"),
        ("PostgreSQL", "stores-postgres.md"),
        ("Redis", "stores-redis.md"),
        ("Security", "security.md"),
        ("Sign-in", "sign-in.md"),
        ("Observability", "observability.md"),
        ("Prometheus", "prometheus.md"),
        ("Runbook", "runbook.md"),
        ("Backup", "backup.md"),
        ("Upgrades", "upgrading.md"),
        ("Faults", "faults.md"),
        ("Failovers", "failover.md"),
        ("Performance", "performance.md"),
        ("Scaling", "scaling.md"),
    ),
    "Frameworks' authors": (
        ("Writing an adapter", "adapters.md"),
        ("The checks of an adapter", "adapter-checks.md"),
        ("Judging an endpoint", "conformance.md"),
        ("Public producers, judged", "matrix.md"),
    ),
    "Reference": (
        ("agui_bridge", "reference.md"),
        ("Other packages", "api/index.md"),
        ("HTTP", "schemas/openapi.md"),
        ("JSON Schemas", "schemas/index.md"),
        ("The contract", "contract.md"),
        ("Why the contract says so", "contract-reasons.md"),
        ("What is public", "public.md"),
        ("Architecture", "architecture.md"),
        ("Contributing", "contributing.md"),
        ("Releasing", "releasing.md"),
        ("Changes", "changes.md"),
    ),
}
"""The title and the page of each entry, by section; an entry whose page isn't there is left out."""


def nav_of(pages: Collection[str], below: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """The navigation as the site's builder takes it.

    Args:
        pages: what there is.
        below: pages without an entry of their own, by the entry that they stand under.
    """
    return [
        {
            section: [
                {title: [page, *below[page]]} if page in below else {title: page}
                for title, page in entries
                if page in pages
            ]
        }
        for section, entries in SECTIONS.items()
    ]


def orphans_of(pages: Collection[str]) -> list[str]:
    """Which of the pages are in no section, each as a sentence."""
    listed = {page for entries in SECTIONS.values() for _, page in entries}
    return [
        f"{page} is in no section of the navigation: add it to SECTIONS in docs/site/navigation.py"
        for page in sorted(set(pages) - listed)
    ]
