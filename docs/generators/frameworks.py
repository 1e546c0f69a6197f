"""The page of the frameworks: made from adapters' capabilities, their pages and the matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agui_bridge.adapters import AdapterCapabilities
from agui_bridge.installed import load_adapter


@dataclass(frozen=True, slots=True)
class Framework:
    """What has an adapter.

    Attributes:
        name: as its authors write it.
        adapter: the adapter's name, of the entry points.
        page: its page in docs, without the ending.
        extra: what `pip install ".[…]"` brings it; empty for a server.
        package: its distribution on PyPI; empty for a server.
        peer: its own AG-UI integration in the matrix; empty where none is judged.
    """

    name: str
    adapter: str
    page: str
    extra: str = ""
    package: str = ""
    peer: str = ""


FRAMEWORKS: Final = (
    Framework("Google ADK", "adk", "adk", "adk", "google-adk", "adk"),
    Framework("Agno", "agno", "agno", "agno", "agno", "agno"),
    Framework("Claude Agent SDK", "claude", "claude", "claude", "claude-agent-sdk"),
    Framework(
        "LangGraph, LangChain", "langgraph", "langgraph", "langgraph", "langgraph", "langgraph"
    ),
    Framework("LlamaIndex", "llama_index", "llama-index", "llama-index", "llama-index-core"),
    Framework(
        "Microsoft Agent Framework",
        "agent_framework",
        "agent-framework",
        "agent-framework",
        "agent-framework-core",
        "agent-framework",
    ),
    Framework(
        "OpenAI Agents SDK", "openai_agents", "openai-agents", "openai-agents", "openai-agents"
    ),
    Framework(
        "Pydantic AI",
        "pydantic_ai",
        "pydantic-ai",
        "pydantic-ai",
        "pydantic-ai-slim",
        "pydantic-ai",
    ),
    Framework("Strands Agents", "strands", "strands", "strands", "strands-agents", "strands"),
    Framework(
        "LangGraph's server",
        "langgraph_server",
        "langgraph-server",
        "langgraph-server",
        "langgraph-sdk",
    ),
    Framework("Mastra", "mastra", "mastra"),
    Framework("NexAU", "nexau", "nexau"),
    Framework("SuperAgent", "superagent", "superagent"),
    Framework("A2A agents", "a2a", "a2a"),
    Framework("DBOS workflows", "dbos", "dbos"),
    Framework("Workflow tools: n8n", "webhook", "webhook"),
    Framework("Temporal", "temporal", "temporal"),
    Framework("ACP agents: Codex, Gemini, Claude Code", "acp", "acp-agents"),
)

_PEER: Final = re.compile(
    r"\| \[(?P<peer>[\w-]+)\]\(#[\w-]+\) \| (?P<day>\S+) \| (?P<alone>[^|]+) \| [^|]+ "
    r"\| (?P<behind>[^|]+) \|"
)
_BESIDES: Final = (
    "state in",
    "state out",
    "predicted state",
    "context",
    "events of tools",
    "reasoning",
)
_CELLS: Final = re.compile(r"(?<!\\)\|")

Row = Sequence[str]


def frameworks_page(docs: Path, constraints: Path) -> str:
    """The page as it is, with its tables as they should be.

    Args:
        docs: the folder of pages.
        constraints: the folder of the files with the versions that CI installs.

    Raises:
        ValueError: the page has no place for one of them, marked by two comments.
    """
    text = (docs / "frameworks.md").read_text(encoding="utf-8")
    matrix = (docs / "matrix.md").read_text(encoding="utf-8")
    tables = {
        "decisions": _table(("framework", "an approval", "a question"), _decided()),
        "kept": _table(("framework", "the conversation", "a stop", "a policy"), _kept()),
        "besides": _table(("framework", *_BESIDES), _besides(docs)),
        "versions": _table(("framework", "install", "oldest", "newest"), _versions(constraints)),
        "judged": _table(("framework", "judged", "alone", "behind the bridge"), _judged(matrix)),
    }
    for name, table in tables.items():
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        if not begin or not end:
            raise ValueError(f"frameworks.md lacks <!-- {name} --> … <!-- /{name} -->")
        text = before + begin + table + end + after
    return text


def _decided() -> Iterator[Row]:
    for one in FRAMEWORKS:
        can = _capabilities(one)
        decisions = ", ".join(can.decisions) or "none: it asks in questions"
        asked = "yes, answered with `null` too" if can.null else "yes, not answered with `null`"
        yield _link(one), decisions, asked if can.answer else "no"


def _kept() -> Iterator[Row]:
    for one in FRAMEWORKS:
        can = _capabilities(one)
        yield (
            _link(one),
            "the framework's" if can.own_history else "the thread's",
            "ends by itself" if can.stop else "is cancelled",
            "judges each call" if can.policy else "can't judge its calls",
        )


def _versions(constraints: Path) -> Iterator[Row]:
    oldest, newest = (
        _pins(constraints / f"constraints{which}.txt") for which in ("-frameworks-lowest", "")
    )
    for one in FRAMEWORKS:
        if one.package:
            install = f'`pip install ".[{one.extra}]"`'
            yield _link(one), install, oldest[one.package], newest[one.package]


def _besides(docs: Path) -> Iterator[Row]:
    """What each page's table under "What a page gets besides" says; pages without one are left out.

    Raises:
        ValueError: a table lacks a row.
    """
    for one in FRAMEWORKS:
        text = (docs / f"{one.page}.md").read_text(encoding="utf-8")
        _, found, rest = text.partition("## What a page gets besides\n")
        lines = rest.partition("\n## ")[0].splitlines()
        cells = (_CELLS.split(line.strip()[1:-1]) for line in lines if line.startswith("| "))
        told = {row[0].strip(): row[1].strip() for row in cells}
        lacks = [name for name in _BESIDES if found and name not in told]
        if lacks:
            raise ValueError(f'{one.page}.md says nothing of "{lacks[0]}" under "What a page gets"')
        if found:
            yield _link(one), *(told[name] for name in _BESIDES)


def _judged(matrix: str) -> Iterator[Row]:
    peers = {row["peer"]: row for line in matrix.splitlines() if (row := _PEER.match(line))}
    for one in FRAMEWORKS:
        if one.peer:
            yield _link(one), *peers[one.peer].group("day", "alone", "behind")
    yield "[CrewAI](crewai.md)", *peers["crewai"].group("day", "alone", "behind")


def _capabilities(one: Framework) -> AdapterCapabilities:
    found = load_adapter(one.adapter).capabilities
    assert isinstance(found, AdapterCapabilities)
    return found


def _pins(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line)


def _link(one: Framework) -> str:
    return f"[{one.name}]({one.page}.md)"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
