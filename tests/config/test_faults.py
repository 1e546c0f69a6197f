"""What is wrong in a file is told with line, key and remedy, and without secrets."""

from pathlib import Path
from typing import Any

import pytest

from agui_bridge.config import load_config
from tests.config.files import SECRET, refused
from tests.support.installed import install


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stroe: x\n", "bridge.yaml:1: stroe: unknown key; did you mean 'store'?"),
        ("zzz: x\n", "bridge.yaml:1: zzz: unknown key. Allowed are store, server, logging"),
        ("server: {prot: 1}\n", "server.prot: unknown key; did you mean 'port'?"),
        ("server:\n  host: a\n  port: 'x'\n", "bridge.yaml:3: server.port: must be a whole"),
        ("server: {port: 65536}\n", "server.port: must be at most 65535."),
        ("server: {anonymous: 'yes'}\n", "server.anonymous: must be true or false."),
        ("server: {host: 1}\n", "server.host: must be text; write it in quotes."),
        ("port: 1\n", "bridge.yaml:1: port: unknown key; did you mean 'server.port'?"),
        ("lease_secnds: 1\n", "unknown key; did you mean 'settings.lease_seconds'?"),
        ("server: 5\n", "server: must be a mapping of keys to values."),
        ("cors_origins: x\n", "cors_origins: must be a list, such as [a, b]."),
        ("logging: {format: xml}\n", "logging.format: must be one of 'text', 'json'."),
        ("settings: {lease_seconds: 0}\n", "settings.lease_seconds: must be above 0."),
        ("settings: {max_depth: 101}\n", "settings.max_depth: must be at most 100."),
        ("settings: {stop_timeout: -1}\n", "settings.stop_timeout: must be at least 0."),
        ("settings: {keep_alive: .inf}\n", "settings.keep_alive: must be a finite number."),
        ("settings: {on_disconnect: x}\n", "must be one of 'stop', 'continue'."),
        ("policy: judge\n", "policy: must be of the form module:variable."),
        ("authentication: {}\n", "give exactly one of bearer and hook; none is given."),
        ("authentication: {bearer: []}\n", "authentication.bearer: must not be empty."),
        (
            "authentication: {bearer: [{token: a, token_env: B, actor: c}]}\n",
            "authentication.bearer.0: give exactly one of token_env, token_sha256 and token; "
            "token_env and token are given.",
        ),
        ("authentication: {bearer: [{token: a}]}\n", "authentication.bearer.0.actor: is missing."),
        (
            "authentication: {bearer: [{token_sha256: a, actor: c}]}\n",
            "bearer.0.token_sha256: must be of the form 64 hexadecimal digits.",
        ),
        ("approvals: {}\n", "approvals: must be a list, such as [a, b]."),
        ("approvals: [{aprovers: [a]}]\n", "approvals.0.aprovers: unknown key"),
        (
            "approvals:\n  - {approvers: [a]}\n  - {quorum: 0}\n",
            "bridge.yaml:3: approvals.1.quorum",
        ),
        (
            "approvals: [{approvers: ['role:']}]\n",
            "must be a list of actors and role:NAME, not tuple with str 'role:'",
        ),
        ("approvals: [{approvers: [a], quorum: 2}]\n", "it wants the approval of 2, and names a"),
        ("approvals: [{match: {tol: x}}]\n", "approvals.0.match.tol: unknown key"),
        (
            "approvals:\n  - {approvers: [a]}\n  - {notify: [pager]}\n",
            "bridge.yaml:3: approvals.1.notify: there is no channel 'pager'. Channels: none.",
        ),
        (
            "approvals: [{approvers: [a], escalate: [{after: 9, notify: [pager]}]}]\n",
            "approvals.0.escalate.0.notify: there is no channel 'pager'.",
        ),
        ("policy: shop_for_config:nothing\n", "policy: The module 'shop_for_config' has no 'noth"),
        ("policy: shop_for_config:number\n", "should be a function, but is of type int"),
        ("cors_origins: ['https://x/y']\n", "bridge.yaml: the bridge: "),
    ],
)
def test_a_fault_names_its_line_its_key_and_what_is_allowed(
    folder: Path, text: str, said: str
) -> None:
    assert said in refused(folder, text)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{}", "a: give exactly one of function, adapter, object and file; none is given."),
        ("{function: 'x:y', object: 'x:y'}", "a: give exactly one of function, adapter,"),
        ("{function: 'x:y', options: {a: 1}}", "`options` are those of an `adapter`"),
        ("{fuction: 'x:y'}", "a.fuction: unknown key; did you mean 'function'?"),
        (
            "{function: 'x:y', expires_in: 1}",
            "a.expires_in: unknown key; did you mean 'settings.expires_in' or 'keyword.expires_in'",
        ),
        ("{function: 'no_such:y'}", "agents.a: There is no module 'no_such' in "),
        ("{function: 'shop_for_config:oders'}", "Did you mean shop_for_config:orders?"),
        ("{function: 'shop_for_config:judge'}", "judge is not async"),
        ("{object: 'shop_for_config:number'}", "Agent 'a': 7 is no Adapter"),
        ("{adapter: functoin}", "There is no adapter 'functoin'; installed are:"),
        ("{adapter: function, options: {x: 1}}", "Its options are: function."),
        ("{function: 'x:y', settings: {lease_seconds: 9}}", "settings.lease_seconds: unknown key"),
    ],
)
def test_a_fault_of_an_agent_names_the_agent_and_its_line(
    folder: Path, entry: str, said: str
) -> None:
    told = refused(folder, "", agents=f"agents:\n  a: {entry}\n")
    assert told.startswith("bridge.yaml:2: agents.a")
    assert said in told


def test_the_faults_of_all_agents_are_told_at_once(folder: Path) -> None:
    agents = """agents:
  a: {function: 'no_such:y'}
  b: {function: 'shop_for_config:orders'}
  c: {function: 'shop_for_config:judge'}
"""
    told = refused(folder, "", agents=agents)
    places = [line.partition(": ")[0] for line in told.splitlines() if "agents." in line]
    assert places == ["bridge.yaml:2", "bridge.yaml:4"]


@pytest.mark.parametrize("agents", ["", "agents: {}\n"])
def test_a_file_without_agents_is_refused(folder: Path, agents: str) -> None:
    assert "agents: " in refused(folder, "store: 'memory:'\n", agents=agents)


def test_a_name_that_fits_no_address_is_refused_at_its_line(folder: Path) -> None:
    told = refused(folder, "", agents="agents:\n  a b: {function: 'shop_for_config:orders'}\n")
    assert told.startswith("bridge.yaml:2: agents.a b: 'a b' can't be an agent's name")


def test_no_fault_repeats_a_value_that_may_be_a_secret(folder: Path) -> None:
    text = f"""
        store: [{SECRET}]
        logging: {{level: {SECRET}}}
        authentication: {{bearer: [{{token: {SECRET}, token_sha256: {SECRET}, actor: 1}}]}}
    """
    told = refused(folder, text, agents=f"agents: {{a: {{function: {SECRET}}}}}\n")
    assert "faults" in told and SECRET not in told


FUSSY = """
class Fussy:
    def __init__(self, value):
        raise ValueError(f"not {value}")
"""


@pytest.mark.parametrize("options", [{"value": SECRET}, {"wrong": SECRET}, {}])
def test_options_that_an_adapter_refuses_are_not_repeated(
    folder: Path, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "fussy.py").write_text(FUSSY)
    monkeypatch.syspath_prepend(folder)
    install(folder, "fussy", {"fussy": "fussy:Fussy"})
    told = refused(folder, "", agents=f"agents: {{a: {{adapter: fussy, options: {options}}}}}\n")
    assert SECRET not in told and "'fussy'" in told


WORKFLOWS = """
from agui_bridge import AdapterCapabilities


class Workflows:
    capabilities = AdapterCapabilities()
    object_options = ("workflow", "rules")

    def __init__(self, workflow, rules=None, label=""):
        self.made_with = (workflow, rules, label)

    async def run(self, run):
        yield str(self.made_with)

    async def aclose(self):
        pass
"""


@pytest.fixture
def workflows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an adapter whose class names which of its options are objects."""
    (folder / "their_workflows.py").write_text(WORKFLOWS)
    monkeypatch.syspath_prepend(folder)
    install(folder, "workflows", {"workflows": "their_workflows:Workflows"})
    return folder


def test_options_that_name_objects_reach_the_adapter_as_objects(workflows: Path) -> None:
    (workflows / "bridge.yaml").write_text(
        "agents: {a: {adapter: workflows, "
        "options: {workflow: 'shop_for_config:number', label: 'shop_for_config:number'}}}\n"
    )
    adapter: Any = load_config(workflows / "bridge.yaml").bridge().agents["a"].adapter

    assert adapter.made_with == (7, None, "shop_for_config:number")


def test_an_option_that_names_no_object_is_refused_at_its_line(workflows: Path) -> None:
    options = "{workflow: 'shop_for_config:nothing'}"
    told = refused(
        workflows, "", agents=f"agents:\n  a: {{adapter: workflows, options: {options}}}\n"
    )

    assert told.startswith("bridge.yaml:2: agents.a: workflow: The module 'shop_for_config' has no")
