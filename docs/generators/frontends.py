"""The page of the frontends: what the marked tests have shown, by client and version."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "frontends.md"
FOLDERS: Final = (ROOT / "tests" / "e2e", ROOT / "tests" / "cli")
"""Where tests may be marked."""


@dataclass(frozen=True, slots=True)
class Client:
    """What people have before them.

    Attributes:
        name: as the marks and the table have it.
        page: its page in docs, with the section if it is not all of it.
        packages: the packages that are tested, each with the file that fixes its version.
    """

    name: str
    page: str
    packages: tuple[tuple[str, str], ...] = ()


CLIENTS: Final = (
    Client(
        "HttpAgent",
        "versions.md",
        (
            ("@ag-ui/client", "tests/e2e/package.json"),
            ("ag-ui-client-0", "tests/e2e/package.json"),
        ),
    ),
    Client(
        "CopilotKit",
        "copilotkit.md",
        (
            ("@copilotkit/react-core", "examples/copilotkit/package.json"),
            ("@copilotkit/core", "tests/e2e/package.json"),
        ),
    ),
    Client(
        "assistant-ui",
        "assistant-ui.md",
        (
            ("@assistant-ui/react-ag-ui", "examples/assistant-ui/package.json"),
            ("@assistant-ui/react", "examples/assistant-ui/package.json"),
        ),
    ),
    Client(
        "TanStack AI",
        "tanstack-ai.md",
        (
            ("@tanstack/ai-react", "examples/tanstack-ai/package.json"),
            ("@tanstack/ai", "examples/tanstack-ai/package.json"),
        ),
    ),
    Client("TDesign", "vue.md", (("@tdesign-vue-next/chat", "tests/e2e/tdesign/package.json"),)),
    Client(
        "AGUIChatClient",
        "agui-chat-client.md",
        (("agent-framework-ag-ui", "tests/servers/peers/agent_framework.txt"),),
    ),
    Client("playground", "copilotkit.md#playground", (("agui-inspector", "constraints.txt"),)),
    Client("terminal", "command-line.md#chat"),
)

FEATURES: Final = {
    "approve": "an approved tool runs, once",
    "deny": "a denial, with a reason",
    "edit": "an approval with other arguments",
    "cancel": "a question is cancelled",
    "form": "a form",
    "confirm": "a yes or a no",
    "several": "several questions at once",
    "refused": "after a refused answer, the question is still there",
    "reload": "after a reload, the question is still there",
    "follow": "after a reload, the run goes on",
    "elsewhere": "somebody else has answered",
    "expired": "the time to answer is over",
    "page tool": "a tool that the page carries out",
    "state": "the agent's state is shown",
    "page state": "the page's state is kept",
    "stop": "a stop keeps what was said",
    "rewrite": "an earlier message is changed",
    "view": "a view of an MCP tool",
}
"""What people do, in the order of the table, by the words of the marks."""


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """A test that shows what people can do with a client.

    Attributes:
        client: its name.
        feature: a key of `FEATURES`.
        path: the test's file, from the root.
        test: the name of the function.
    """

    client: str
    feature: str
    path: str
    test: str


def claims_of(folders: Collection[Path] = FOLDERS) -> frozenset[Claim]:
    """What the tests are marked with: `@pytest.mark.feature(client, feature, …)`."""
    return frozenset(
        claim
        for folder in folders
        for path in sorted(folder.rglob("test_*.py"))
        for claim in _claims_in(path)
    )


def _claims_in(path: Path) -> Iterator[Claim]:
    where = path.relative_to(ROOT).as_posix()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.feature":
                client, *features = [ast.literal_eval(word) for word in mark.args]
                for feature in features:
                    yield Claim(client, feature, where, node.name)


def frontends_page(page: str, claims: Collection[Claim]) -> str:
    """The page with its tables anew.

    Args:
        page: as it is.
        claims: what has been shown.
    """
    for name, text in (("table", _table(claims)), ("tests", _tests(claims))):
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        page = f"{before}{begin}{text}\n{end}{after}"
    return page


def shown_by(page: str) -> frozenset[Claim]:
    """The claims that a page has."""
    words = {text: feature for feature, text in FEATURES.items()}
    sections = (part.partition("\n") for part in page.split("\n### ")[1:])
    return frozenset(
        Claim(client, words[text], path, test)
        for client, _, rows in sections
        for text, path, test in re.findall(r"^\| (.+) \| `(.+)::(.+)` \|$", rows, re.MULTILINE)
        if text in words
    )


def versions_of(client: Client) -> str:
    """The versions that the tests run it in, as the table has them."""
    fixed = [fixed_version(package, file) for package, file in client.packages]
    versions = [f"`{name}` {version}" for name, version in fixed]
    return " and ".join(versions) or "this one"


def fixed_version(package: str, file: str) -> tuple[str, str]:
    """A package's own name, and the version that a file fixes."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.endswith(".json"):
        given = json.loads(text)["dependencies"][package]
        name, _, version = given.rpartition("@")
        return name.removeprefix("npm:") or package, version
    [version] = re.findall(rf"^{re.escape(package)}==(\S+)$", text, re.MULTILINE)
    return package, version


def _table(claims: Collection[Claim]) -> str:
    shown = {(claim.client, claim.feature) for claim in claims}
    rows = [
        ["", *(f"[{client.name}]({client.page})" for client in CLIENTS)],
        ["---"] * (len(CLIENTS) + 1),
        ["version", *(versions_of(client) for client in CLIENTS)],
    ]
    for feature, text in FEATURES.items():
        cells = ("yes" if (client.name, feature) in shown else "-" for client in CLIENTS)
        rows.append([text, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _tests(claims: Collection[Claim]) -> str:
    parts = []
    for client in CLIENTS:
        own = [claim for claim in claims if claim.client == client.name]
        lines = [f"### {client.name}", "", "| feature | test |", "|---|---|"]
        for feature, text in FEATURES.items():
            shown = sorted(claim for claim in own if claim.feature == feature)
            lines += [f"| {text} | `{claim.path}::{claim.test}` |" for claim in shown]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
