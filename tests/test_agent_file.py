"""Files of `kind: Agent`: the seed's format, its defaults, and what is told of mistakes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import KeywordAdapter
from agui_bridge.agent_file import AgentFile, bridge_of, find_agent_files
from agui_bridge.agents.chat import ChatAgent
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support.server import post, run_input, serve

SEED = """\
apiVersion: superagent/v1
kind: Agent
metadata:
  name: approval-agent
  version: "1.0.0"
spec:
  type: chat_model_agent
  model:
    primary: gpt-4o
  system_prompt: |
    你是一个审批助手。在执行任何不可逆操作前,
    使用"Please confirm"短语明确请求用户确认。
  interrupt:
    enabled: true
    checkpoint_backend: redis    # redis(持久化)或 memory(内存,默认)
    timeout_seconds: 300         # 中断状态保留时长,默认 300 秒(5 分钟)
  memory:
    backend: builtin
"""
SMALL = """\
apiVersion: superagent/v1
kind: Agent
metadata: {name: small}
spec:
  type: chat_model_agent
  model: {primary: m}
"""


def written(folder: Path, text: str, name: str = "agent.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_seeds_file_is_read_as_it_is(tmp_path: Path) -> None:
    file = AgentFile.read(written(tmp_path, SEED))
    spec = file.values.spec
    assert (file.name, file.values.metadata.version) == ("approval-agent", "1.0.0")
    assert (spec.type, spec.model.primary, spec.memory.backend) == (
        "chat_model_agent",
        "gpt-4o",
        "builtin",
    )
    assert spec.system_prompt.startswith("你是一个审批助手。")
    assert (spec.interrupt.enabled, spec.interrupt.timeout_seconds) == (True, 300)
    assert file.backend == "redis"
    assert isinstance(file.adapter(), KeywordAdapter)


def test_the_defaults_are_the_seeds(tmp_path: Path) -> None:
    file = AgentFile.read(written(tmp_path, SMALL))
    asked = file.values.spec.interrupt
    assert (asked.enabled, asked.checkpoint_backend, asked.timeout_seconds) == (
        False,
        "memory",
        300,
    )
    adapter = file.adapter()
    assert isinstance(adapter, ChatAgent)
    assert not adapter.tools and not adapter.capabilities.answer
    assert bridge_of([file.document.path]).store == "memory:"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("name: approval-agent", "title: x", r"agent.yaml:3: metadata.name: is missing"),
        ("superagent/v1", "superagent/v9", r"agent.yaml:1: apiVersion: must be .superagent"),
        ("chat_model_agent", "react_agent", r"agent.yaml:7: spec.type: must be .chat_model"),
        ("primary: gpt-4o", "secondary: x", r"agent.yaml:8: spec.model.primary: is missing"),
        ("enabled: true", 'enabled: "yes"', r"agent.yaml:14: spec.interrupt.enabled: must be tr"),
        ("_backend: redis", "_backend: etcd", r":15: spec.interrupt.checkpoint_backend: must be"),
        ("_seconds: 300", "_seconds: 0", r":16: spec.interrupt.timeout_seconds: must be above 0"),
        ("_seconds: 300", "_seconds: soon", r":16: .*timeout_seconds: must be a whole number"),
        ("backend: builtin", "backend: vector", r"agent.yaml:18: spec.memory.backend: must be"),
        ("backend: builtin", "backend: mem0", r":18: .*'mem0' is a memory of SuperAgent's server"),
        ("chat_model_agent", "agentloop", r":7: spec.type: 'agentloop' is for SuperAgent's server"),
        ("chat_model_agent", "chat", r":7: spec.type: must be 'chat_model_agent'"),
        ('"1.0.0"', "1.0", r"agent.yaml:5: metadata.version: must be text; write it in quotes"),
        ("primary: gpt-4o", "primary: ${NO_SUCH}", r":9: spec.model.primary: .*NO_SUCH is not set"),
        ("enabled: true", "enabled: true\n    keywords: ['`code`']", r":13: spec.interrupt: The p"),
        ("enabled: true", "enabled: true\n    keywords: []", r"keywords: must not be empty"),
        ("spec:", "spec: [", r"agent.yaml:\d+: this is not valid YAML"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_field(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = written(tmp_path, SEED.replace(old, new, 1))
    with pytest.raises(ConfigurationError, match=told):
        AgentFile.read(path, environment={}).adapter()


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, SEED.replace("300", "0").replace("gpt-4o", "''"))
    with pytest.raises(ConfigurationError, match="has 2 faults"):
        AgentFile.read(path)


def test_unknown_keys_warn_with_file_and_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = SEED.replace("    enabled: true", "    enabled: true\n    enabeld: true")
    path = written(tmp_path, text.replace("kind: Agent", "kind: Agent\nlabels: {a: b}"))
    with caplog.at_level(logging.WARNING):
        AgentFile.read(path)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}:3: labels: unknown key; it has no effect",
        f"{path}:16: spec.interrupt.enabeld: unknown key; it has no effect",
    ]


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("fallback: gpt-4o-mini", "an endpoint at `base_url` may fall back"),
        ("router: capability-based", "an endpoint at `base_url` may route"),
        ("observability: {tracing: true}", "the bridge's telemetry is for all agents"),
        ("middleware: [{name: audit_log}]", "policies and hooks of the bridge judge"),
        ("sub_agents: [{ref: other}]", "a tool of yours may ask another agent"),
    ],
)
def test_keys_of_superagents_server_warn_with_what_there_is_instead(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, key: str, told: str
) -> None:
    indent = "    " if key.startswith(("fallback", "router")) else "  "
    path = written(tmp_path, SEED.replace("gpt-4o\n", f"gpt-4o\n{indent}{key}\n", 1))
    with caplog.at_level(logging.WARNING):
        AgentFile.read(path)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "a key of SuperAgent's server" in said and told in said


def test_the_model_may_come_from_the_environment_and_a_prompt_stays_as_it_is(
    tmp_path: Path,
) -> None:
    text = SEED.replace("gpt-4o", "${MODEL}\n    max_tokens: ${MOST}").replace("审批", "${HOME}")
    file = AgentFile.read(written(tmp_path, text), environment={"MODEL": "m", "MOST": "7"})
    assert (file.values.spec.model.primary, file.values.spec.model.max_tokens) == ("m", 7)
    assert "${HOME}" in file.values.spec.system_prompt


@pytest.mark.parametrize(
    ("backend", "variables", "store"),
    [
        ("memory", {}, "memory:"),
        ("sqlite", {}, "sqlite:///agui-bridge.db"),
        ("sqlite", {"SQLITE_URL": "sqlite:///x.db"}, "sqlite:///x.db"),
        ("redis", {}, "redis://127.0.0.1:6379/0"),
        ("redis", {"REDIS_URL": "redis://cache:1/2"}, "redis://cache:1/2"),
        ("postgres", {"DATABASE_URL": "postgresql://db/x"}, "postgresql://db/x"),
    ],
)
def test_a_backend_is_a_store(
    tmp_path: Path, backend: str, variables: dict[str, str], store: str
) -> None:
    path = written(tmp_path, SEED.replace("_backend: redis", f"_backend: {backend}"))
    assert bridge_of([path], environment=variables).store == store
    assert bridge_of([path], store="sqlite:///other.db").store == "sqlite:///other.db"


def test_postgres_needs_an_address(tmp_path: Path) -> None:
    path = written(tmp_path, SEED.replace("_backend: redis", "_backend: postgres"))
    with pytest.raises(ConfigurationError, match=r"(?s)agent.yaml:15: .*Set DATABASE_URL"):
        bridge_of([path], environment={})


def test_agents_that_ask_for_different_backends_are_refused_unless_a_store_is_named(
    tmp_path: Path,
) -> None:
    one = written(tmp_path, SEED, "one.yaml")
    other = SEED.replace("approval-agent", "other").replace("_backend: redis", "_backend: sqlite")
    two = written(tmp_path, other, "two.yaml")
    with pytest.raises(ConfigurationError, match=r"two.yaml:15: .*sqlite here, and redis in .*one"):
        bridge_of([one, two], environment={})
    assert set(bridge_of([one, two], store="memory:").agents) == {"approval-agent", "other"}


def test_a_folder_gives_its_agents_and_leaves_other_yaml_alone(tmp_path: Path) -> None:
    written(tmp_path, SEED, "b.yaml")
    written(tmp_path, SMALL, "a.yml")
    written(tmp_path, "services: {}", "compose.yaml")
    assert [path.name for path in find_agent_files([tmp_path])] == ["a.yml", "b.yaml"]
    assert list(bridge_of([tmp_path], environment={}).agents) == ["small", "approval-agent"]


def test_a_folder_without_agents_and_a_name_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no file of `kind: Agent`"):
        bridge_of([tmp_path])
    one, two = written(tmp_path, SMALL), written(tmp_path, SMALL, "two.yaml")
    with pytest.raises(ConfigurationError, match=r"two.yaml:3: metadata.name: There is an agent"):
        bridge_of([one, two])


TOOLS = """
from agui_bridge.agents.chat import tool

CALLS = []

def look(day: str) -> str:
    CALLS.append(day)
    return "free"

@tool(approval="always")
def send(to: str) -> str:
    CALLS.append(to)
    return "sent"

address = "a@b.example"
"""


@pytest.fixture
def with_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    name = f"tools_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(TOOLS)
    monkeypatch.setattr(sys, "path", list(sys.path))
    listed = f"""\
  tools:
    - function: {name}:look
      requireApproval: true
    - function: {name}:send
      name: mail
"""
    yield written(tmp_path, SMALL + listed)
    sys.modules.pop(name, None)


def test_tools_are_functions_that_the_file_names(with_tools: Path) -> None:
    adapter: Any = AgentFile.read(with_tools).adapter()
    assert {name: one.approval for name, one in adapter.tools.items()} == {
        "look": "always",
        "mail": "always",
    }


async def test_a_tool_of_a_file_is_executed_once_it_is_approved(
    with_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = ToolUse("look", {"day": "monday"})
    async with ScriptedModel(Reply(calls=[look]), Reply("Free.")) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        async with serve(bridge_of([with_tools]).app(anonymous=True)) as base:
            asked = await post(base, agent="small", **run_input("go"))
            calls = sys.modules[f"tools_{with_tools.parent.name}"].CALLS
            assert calls == []
            (ask,) = asked.events[-1]["outcome"]["interrupts"]
            yes = {
                "interruptId": ask["id"],
                "status": "resolved",
                "payload": {"approved": True},
            }
            await post(base, agent="small", **run_input(None, run="r2", resume=[yes]))
            assert calls == ["monday"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (":look", ":loook", r"agent.yaml:\d+: spec.tools.0.function: .*loook"),
        (":look", ":address", r"is no function, but 'a@b.example'"),
        ("function: tools", "function: no_such", r"There is no module"),
        ("function: ", "ref: ", r"is a tool of SuperAgent's server"),
        ("name: mail", "name: look", r"Two tools are called 'look'"),
        ("requireApproval: true", "requireApproval: 1", r"requireApproval: must be true or false"),
    ],
)
def test_a_mistake_in_tools_is_told(with_tools: Path, old: str, new: str, told: str) -> None:
    with_tools.write_text(with_tools.read_text().replace(old, new, 1))
    with pytest.raises(ConfigurationError, match=told):
        AgentFile.read(with_tools).adapter()


def test_keywords_and_fields_are_extensions(tmp_path: Path) -> None:
    more = """\
    enabled: true
    keywords: [ready to deploy]
    fields:
      - {name: confirm, type: confirm, label: Deploy, required: true}
      - {name: when, type: select, options: [now, tonight]}
"""
    file = AgentFile.read(written(tmp_path, SEED.replace("    enabled: true\n", more)))
    adapter: Any = file.adapter()
    scanner = adapter.scanner()
    scanner.feed("Please confirm. Ready to deploy?")
    scanner.end()
    assert [request.phrase for request in scanner.requests] == ["ready to deploy"]
    wrong = more.replace("type: select, options", "type: text, options")
    with pytest.raises(ConfigurationError, match=r"fields.1: a select has options"):
        AgentFile.read(written(tmp_path, SEED.replace("    enabled: true\n", wrong)))


def test_a_bridges_own_file_takes_an_agents_file_in_a_line(tmp_path: Path) -> None:
    written(tmp_path, SEED.replace('"1.0.0"', '"1.0.0"\n  description: Approves.'), "a.yaml")
    bridge = bridge_from(written(tmp_path, "agents: {approval: {file: a.yaml}}", "bridge.yaml"))
    agent = bridge.agents["approval"]
    assert isinstance(agent.adapter, KeywordAdapter)
    assert agent.description == "Approves."
    wrong = written(tmp_path, "agents: {approval: {file: none.yaml}}", "wrong.yaml")
    with pytest.raises(ConfigurationError, match=r"wrong.yaml:1: agents.approval: .*none.yaml"):
        bridge_from(wrong)
