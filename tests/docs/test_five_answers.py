"""Whatever is pasted from a page or an example survives every answer that people give.

Each agent that asks is approved, declined, cancelled, edited and edited wrongly: it ends well or
asks again, and nothing is executed with arguments that nobody checked.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from agui_bridge import Bridge, FunctionAdapter
from tests.docs.pages import PAGES, ROOT, Conversation, run_page, snippets_of
from tests.support.own_modules import importing_own

Names = dict[str, Any]


@dataclass(frozen=True)
class Asking:
    """An agent that asks, and how people answer it.

    Attributes:
        file: the page or module that defines it.
        agent: its name on the `bridge` of the file.
        say: the message that makes it ask.
        yes: the answer of somebody who agrees; None approves or confirms.
        no: the answer of somebody who does not; None declines, or fills the form in all the same.
        adapter: makes the adapter, where the file has no bridge with it.
    """

    file: str
    agent: str
    say: str = "go"
    yes: Mapping[str, Any] | None = None
    no: Mapping[str, Any] | None = None
    adapter: Callable[[Names], Any] | None = None

    def __str__(self) -> str:
        return f"{Path(self.file).stem}-{self.agent}"

    def payloads(self, asks: Sequence[Mapping[str, Any]], *, agree: bool) -> list[Any]:
        """One answer for each question."""
        if self.yes is not None:
            return [dict(self.yes if agree else self.no or self.yes) for _ in asks]
        words = {"tool_call": "approved", "confirmation": "confirm"}
        return [{words[ask["reason"]]: agree} for ask in asks]


FUNCTIONS: Final = "docs/function-agents.md"
RECEIPT: Final = {
    "amount": 12,
    "purpose": "other",
    "file": {"name": "a.pdf", "mimeType": "application/pdf", "size": 9, "id": "file-1"},
}
ASKING: Final = [
    Asking("README.md", "ops"),
    Asking("docs/a2a-server.md", "ops"),
    Asking("docs/adapters.md", "deployer", "deploy"),
    Asking("docs/auto-resume.md", "cleaner", yes={"confirmed": True}, no={"confirmed": False}),
    Asking("docs/auto-resume.md", "barista", yes={"size": "large"}, no={"size": "small"}),
    Asking("docs/copilotkit.md", "ops"),
    *(Asking(FUNCTIONS, agent) for agent in ("report", "ops", "both", "chat", "fetcher")),
    Asking(FUNCTIONS, "payer", "500"),
    Asking(
        FUNCTIONS, "travel", yes={"city": "Oslo", "nights": 2}, no={"city": "Rome", "nights": 1}
    ),
    Asking("docs/keyword-agents.md", "cleaner", "delete"),
    Asking("docs/keyword-agents.md", "deployer", "deploy", {"confirm": True}, {"confirm": False}),
    Asking("docs/mcp-server.md", "ops"),
    Asking("docs/superagent.md", "approval-agent"),
    Asking("examples/demo.py", "ops"),
    Asking("examples/demo.py", "report", "go", {"quarter": "Q1", "year": 2026}),
    Asking("examples/demo.py", "mailer"),
    Asking("examples/demo.py", "database", "go", {"approved": True}, {"approved": False}),
    Asking("examples/fastapi_app.py", "ops"),
    Asking("examples/human_approval.py", "mailer", "ann@example.com"),
    Asking("examples/human_approval.py", "janitor"),
    Asking("examples/information_gathering.py", "expenses", "hotel", RECEIPT),
    Asking("examples/wizard.py", "wizard", "a book", {"name": "Ann", "city": "Oslo"}),
    Asking("examples/policy_enforcement.py", "bookkeeper", "pay 500 ann"),
    Asking(
        "examples/error_recovery.py",
        "converter",
        "10 USD 5 JPY 7 GBP",
        {"action": "replace", "rate": 0.5},
        {"action": "abort"},
    ),
    Asking(
        "examples/deployment/agents.py",
        "mail",
        "ann@example.com",
        adapter=lambda names: FunctionAdapter(names["mail"]),
    ),
]

MY_AGENTS: Final = """
from agui_bridge import FunctionAdapter

async def quiet(run):
    yield "Hello"


graph = support = triage = FunctionAdapter(quiet)
"""
"""Stands for agents of frameworks: tests/docs/test_frameworks.py adds real ones."""

ELSEWHERE: Final = {
    "docs/approvals.md": "tests/docs/test_approvals.py answers it, as several people",
    "docs/tutorial/2-approval.md": "tests/docs/test_tutorial.py approves it",
    "examples/a2a_teams/warehouse.py": "tests/examples/test_a2a_teams.py goes through it",
    "examples/approvals/agent.py": "tests/examples/test_approvals.py goes through it",
    "examples/approval_target.py": "tests/processes and the conformance kit answer it",
    "examples/third_party_adapter/src/agui_bridge_flows/adapter.py": "its own tests, by the kit",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with what README.md and docs/superagent.md tell their readers to save."""
    (tmp_path / "agents.py").write_text(snippets_of(ROOT / "README.md")[1][1])
    (tmp_path / "my_agents.py").write_text(MY_AGENTS)
    (tmp_path / "agent.yaml").write_text(snippets_of(ROOT / "docs/superagent.md", "yaml")[0][1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with importing_own("agents"):
        yield tmp_path


@contextlib.asynccontextmanager
async def asked(row: Asking) -> AsyncIterator[Conversation]:
    """A conversation with an agent that has asked, newly made as a reader of the file makes it."""
    sys.modules.pop("agents", None)
    names = await run_page(ROOT / row.file) if row.file.endswith(".md") else loaded(row.file)
    sys.modules.pop("agents", None)
    bridge = names.get("bridge")
    if row.adapter is not None:
        bridge = Bridge()
        bridge.add(row.agent, row.adapter(names))
    assert isinstance(bridge, Bridge)
    bridge.store = "memory:"
    async with bridge.lifespan():
        talk = Conversation(bridge, row.agent)
        await talk.say(row.say)
        assert talk.asks, f"it asks nothing: {talk.events[-1]}"
        yield talk


def loaded(file: str) -> Names:
    """The names of an example, in a module of its own."""
    spec = importlib.util.spec_from_file_location(f"five_{Path(file).stem}", ROOT / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pydantic models look their module up.
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return vars(module)


def wrong_edits(ask: Mapping[str, Any], calls: Mapping[str, Any]) -> list[Any]:
    """Answers that nothing may be done with."""
    if "toolCallId" not in ask:
        return [[], "yes", 17]
    pinned = calls[ask["toolCallId"]]
    edits = [
        {name: {"not": "this"} for name in pinned},
        {**pinned, "unknown": 1},
        {},
        "all; drop",
        None,
    ]
    return [{"approved": True, "editedArgs": edit} for edit in edits]


def pinned_of(talk: Conversation) -> dict[str, Any]:
    """The arguments that are proposed, by call id."""
    shown = [e["messages"] for e in talk.events if e["type"] == "MESSAGES_SNAPSHOT"][-1]
    calls = [call for message in shown for call in message.get("toolCalls") or ()]
    return {call["id"]: json.loads(call["function"]["arguments"]) for call in calls}


def results_of(talk: Conversation) -> list[str]:
    """What the tools gave in the last run."""
    return [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]


def assert_goes_on(talk: Conversation) -> None:
    """The last run ended well, or asks again."""
    assert "RUN_ERROR" not in [event["type"] for event in talk.events], talk.events[-1]
    assert talk.events[-1]["outcome"]["type"] in ("success", "interrupt")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("row", ASKING, ids=str)
async def test_every_answer_ends_well_or_asks_again(row: Asking) -> None:
    async with asked(row) as talk:
        await talk.answer(*row.payloads(talk.asks, agree=True))
        assert_goes_on(talk)
    async with asked(row) as talk:
        await talk.answer(*row.payloads(talk.asks, agree=False))
        assert_goes_on(talk)
    async with asked(row) as talk:
        await talk.answer(*(None for _ in talk.asks))
        assert_goes_on(talk)
    async with asked(row) as talk:
        await edit(talk, row)
    async with asked(row) as talk:
        await edit_wrongly(talk, row)


async def edit(talk: Conversation, row: Asking) -> None:
    """Approve with arguments: those that were proposed, for one can't know better here."""
    pinned = pinned_of(talk)
    answers, offered = row.payloads(talk.asks, agree=True), True
    for ask, answer in zip(talk.asks, answers, strict=True):
        if "toolCallId" in ask:
            answer["editedArgs"] = pinned[ask["toolCallId"]]
            offered = offered and "editedArgs" in ask["responseSchema"]["properties"]
    await talk.answer(*answers)
    if offered:
        assert_goes_on(talk)
    else:
        assert talk.events[-1]["code"] == "INVALID_RESUME_PAYLOAD"
        assert results_of(talk) == []


async def edit_wrongly(talk: Conversation, row: Asking) -> None:
    """Answer with what nothing may be done with, and at last as it was asked."""
    first, *rest = talk.asks
    for wrong in wrong_edits(first, pinned_of(talk)):
        await talk.answer(wrong, *row.payloads(rest, agree=True))
        assert talk.events[-1].get("code") == "INVALID_RESUME_PAYLOAD", wrong
        assert results_of(talk) == []
        # The refusal restates the questions, right before it.
        talk.events.pop()
        assert [ask["id"] for ask in talk.asks] == [ask["id"] for ask in (first, *rest)]
    await talk.answer(*row.payloads(talk.asks, agree=True))
    assert_goes_on(talk)


def test_no_agent_that_asks_is_left_out() -> None:
    files = [*PAGES, *(ROOT / "examples").rglob("*.py")]
    asks = re.compile(r"run\.(?:approve|ask|confirm|decide)\(|\bAsk\(|\bKeywordAdapter\(")
    found = set()
    for file in files:
        code = file.read_text(encoding="utf-8")
        if file.suffix == ".md":
            code = "\n".join(block for _, block in snippets_of(file))
        if asks.search(code):
            found.add(file.relative_to(ROOT).as_posix())
    found.discard("docs/reference.md")  # fragments: FunctionRun's docstrings
    assert found - {row.file for row in ASKING} == set(ELSEWHERE)
