"""Each command: what it prints, what it says when it fails, and its exit code."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agui_bridge import __version__
from agui_bridge.cli import app, banner
from agui_bridge.config.load import VARIABLES
from agui_bridge.conformance.reports import FORMATS
from agui_bridge.documents.schemas import documents
from tests.cli.commands import COMMANDS, HELP
from tests.cli.processes import command, environment
from tests.support.installed import install
from tests.support.logs import logging_as_before
from tests.support.own_modules import importing_own

MODULE = """
from agui_bridge import Bridge

bridge = Bridge()
empty = Bridge()
number = 7

@bridge.agent
async def helper(run):
    "Helps."
    yield "hi"
"""
BROKEN = {
    "missing_package": "import no_such_package",
    "failing": "def half(n):\n    return n / 0\n\nx = half(1)",
    "unclosed": "x = (",
    "leaving": "import sys\nsys.exit(3)",
    "misnamed": "from agents import bridge\n\n@bridge.agent('a b')\nasync def f(run): ...",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, which is the current one; what is imported from it is forgotten."""
    (tmp_path / "agents.py").write_text(MODULE)
    for name, code in BROKEN.items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "80")
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    with logging_as_before(), importing_own("agents", *BROKEN):
        yield tmp_path


def invoke(*args: str) -> Result:
    return CliRunner().invoke(app, args, prog_name="agui-bridge")


def error_of(*args: str) -> list[str]:
    """The lines of a command that fails as it should."""
    result = invoke(*args)
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    return lines


# --- help ---


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_with_an_example_within_80_columns(
    folder: Path, command: str
) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert f"agui-bridge {command}" in result.stdout.partition("Example")[2]
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert max(map(len, lines)) <= 80
    examples = re.findall(r"^  +(.+)", cleandoc(HELP[command]), re.MULTILINE)
    for example in examples:
        assert " ".join(example.split()) in lines, "an example is cut"


def test_the_help_names_every_command_and_where_to_begin(folder: Path) -> None:
    said = invoke("--help").stdout
    assert all(command in said for command in COMMANDS)
    assert "agui-bridge serve agents:bridge" in said
    beginning = said.partition("Begin here")[2].partition("agui-bridge COMMAND")[0]
    lines = [line for line in beginning.splitlines() if line.strip()]
    assert all(line.startswith("  agui-bridge ") for line in lines)


def test_a_command_that_is_nearly_named_is_suggested_and_a_target_asked_for() -> None:
    nearly, far, none = invoke("serv"), invoke("xyz"), invoke("serve")

    assert nearly.stderr.rstrip().endswith("No such command 'serv'. Did you mean 'serve'?")
    assert far.stderr.rstrip().endswith("No such command 'xyz'.")
    assert none.stderr.rstrip().endswith("or module:variable such as agents:bridge.")
    assert (nearly.exit_code, far.exit_code, none.exit_code) == (2, 2, 2)


def test_the_help_of_conformance_names_every_ending_of_a_report() -> None:
    told = CliRunner().invoke(app, ["conformance", "--help"], terminal_width=100).output

    assert f"which: {', '.join(FORMATS)}." in " ".join(told.split())


def test_the_version_is_the_packages() -> None:
    assert invoke("--version").stdout == f"agui-bridge {__version__}\n"


def test_the_shell_completes_commands(folder: Path) -> None:
    def shell(**variables: str) -> str:
        return CliRunner().invoke(app, [], prog_name="agui-bridge", env=variables).stdout

    words = {"COMP_WORDS": "agui-bridge s", "COMP_CWORD": "1"}
    assert shell(_AGUI_BRIDGE_COMPLETE="bash_complete", **words).split() == [
        "plain,serve",
        "plain,stdio",
        "plain,schema",
    ]
    script = invoke("--show-completion", "bash").stdout
    assert "-F _agui_bridge_completion agui-bridge" in script


# --- check, and what serve says of the same targets ---


def test_what_is_fine_is_said_in_a_line_with_exit_code_0(folder: Path) -> None:
    result = invoke("check", "agents:bridge")
    assert (result.exit_code, result.stdout) == (
        0,
        "agents:bridge is fine: 1 agent (helper), store memory: (lost when it ends).\n",
    )


def test_a_file_is_checked_with_its_store(folder: Path) -> None:
    (folder / "bridge.yaml").write_text(
        "store: sqlite:///a.db\nagents: {a: {function: 'agents:helper'}}\n"
    )
    assert (
        "bridge.yaml is fine: 1 agent (a), store sqlite:///a.db."
        in invoke("check", "bridge.yaml").stdout
    )
    assert not (folder / "a.db").exists()
    (folder / "a.db").write_text("this is no database, but it is long enough to be read as one")
    assert "no SQLite database" in error_of("check", "bridge.yaml")[0]


@pytest.mark.parametrize("command", ["check", "serve"])
@pytest.mark.parametrize(
    ("target", "told", "remedy"),
    [
        ("agents", "'agents' is not of the form module:variable.", "Write agents:bridge,"),
        ("agents.py", "not of the form module:variable.", "Write agents:bridge,"),
        (":", "not of the form module:variable.", "Write module:bridge,"),
        ("nowhere:bridge", "There is no module 'nowhere' in ", "in the module's folder"),
        ("agents:brigde", "'agents' has no 'brigde'.", "It has agents:bridge, agents:empty."),
        ("agents:number", "a Bridge, but is of type int.", "It has agents:bridge, agents:empty."),
        ("agents:empty", "agents:empty has no agents.", "@empty.agent"),
        ("agents:bridge.nothing", "has no 'bridge.nothing'.", "It has agents:bridge"),
        ("missing_package:b", "No module named 'no_such_package'", "missing_package.py:1."),
        ("failing:b", "ZeroDivisionError: division by zero", "failing.py:2."),
        ("unclosed:b", "SyntaxError: '(' was never closed", "unclosed.py:1."),
        ("leaving:b", "it called sys.exit()", "leaving.py:2."),
        ("misnamed:b", "'a b' can't be an agent's name", "misnamed.py:3."),
        ("no.yaml", "There is no file 'no.yaml'.", "Name one"),
        ("package.json", "'package.json' is no configuration file.", "Name a YAML file"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_told_with_its_remedy(
    folder: Path, command: str, target: str, told: str, remedy: str
) -> None:
    first, second = error_of(command, target)
    assert told in first and remedy in second


def test_the_trace_is_shown_when_it_is_asked_for(folder: Path) -> None:
    result = invoke("check", "failing:b", "--debug")
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback") and "return n / 0" in result.stderr
    assert "--debug" not in result.stderr


def test_a_module_without_a_bridge_is_told_to_make_one(folder: Path) -> None:
    (folder / "bare.py").write_text("x = 1")
    assert error_of("check", "bare:b")[1].startswith("It has no Bridge at all: make one")


def test_faults_of_a_file_are_told_a_line_each(folder: Path) -> None:
    (folder / "bridge.yaml").write_text("server: {prot: 1}\nagents: {}\nstroe: a\n")
    first, *others = error_of("check", "bridge.yaml")
    assert first == "error: bridge.yaml has 3 faults:"
    assert [line.partition(": ")[0] for line in others] == [
        f"  bridge.yaml:{number}" for number in (1, 2, 3)
    ]


TWO_SCOPES = """
authentication:
  bearer:
    - {token: the-token-of-bob-of-team, actor: bob, scope: team}
    - {token: the-token-of-bob-of-other, actor: bob, scope: other}
channels:
  mail: {type: smtp, url_env: MAIL_URL, sender: bridge@example.org, to: {bob: bob@example.org}}
agents: {a: {function: 'agents:helper'}}
"""


def test_check_and_serve_refuse_a_plain_name_of_several_scopes_in_the_same_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_URL", "smtp://mail.example")
    (folder / "bridge.yaml").write_text(TWO_SCOPES)
    checked, served = error_of("check", "bridge.yaml"), error_of("serve", "bridge.yaml")

    assert checked == served
    assert checked[0].startswith(
        "error: bridge.yaml:7: channels.mail: There are several scopes ('other', 'team')."
    )


def test_check_says_which_scope_no_channel_tells_and_which_nobody_has(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_URL", "smtp://mail.example")
    slip = TWO_SCOPES.replace("type: smtp", "type: smtp, scopes: [taem]")
    (folder / "bridge.yaml").write_text(slip)
    told = invoke("check", "bridge.yaml").stdout.splitlines()

    assert told[:-1] == [
        "No channel is told of the questions of scope 'other'.",
        "No channel is told of the questions of scope 'team'.",
        "Nobody here has the scope 'taem', which a channel names.",
    ]
    assert told[-1].startswith("bridge.yaml is fine: 1 agent (a)")


REFUSED = {
    "nobody says who asks": ("server: {host: 0.0.0.0}", "On 0.0.0.0 others than this machine"),
    "no jinja2": ("inbox: {url: 'https://a.example'}", "The inbox page needs jinja2"),
    "no inspector": ("playground: true", "playground=True needs agui-inspector"),
    "no folder": ("store: sqlite:///nowhere/a.db", "there is no folder"),
    "no store": ("store: mysql://a", "there is no store of the kind 'mysql'"),
}


@pytest.mark.parametrize(("line", "told"), REFUSED.values(), ids=REFUSED)
def test_check_refuses_what_serve_refuses_in_the_same_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    for package in ("jinja2", "agui_inspector"):
        monkeypatch.setitem(sys.modules, package, None)
    (folder / "bridge.yaml").write_text(f"{line}\nagents: {{a: {{function: 'agents:helper'}}}}\n")
    checked, served = error_of("check", "bridge.yaml"), error_of("serve", "bridge.yaml")

    assert checked == served
    assert told in checked[0]


def test_brackets_in_an_error_are_printed_as_they_are(folder: Path) -> None:
    assert "'[bold]x[/]'" in error_of("check", "[bold]x[/]")[0]


# --- serve ---


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("sqlite:///none/[/tmp/x]/a.db", "[/tmp/x]"),
        ("sqlite:////proc/agents.db", "did not answer"),
        ("mysql://user:secret@x", "'mysql'"),
    ],
)
def test_a_store_that_cannot_be_opened_is_told_before_serving(
    folder: Path, store: str, told: str
) -> None:
    lines = error_of("serve", "agents:bridge", "--store", store)
    assert told in lines[0] and "secret" not in "".join(lines)


def test_a_port_in_use_is_told(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        first, second = error_of("serve", "agents:bridge", "--port", str(port))
    assert first == f"error: Port {port} on 127.0.0.1 is in use by another process."
    assert "--port 0" in second


def test_an_address_of_another_machine_is_told(folder: Path) -> None:
    first, second = error_of("serve", "agents:bridge", "--anonymous", "--host", "192.0.2.1")
    assert first == "error: '192.0.2.1' is no address of this machine."
    assert "127.0.0.1" in second


def test_a_port_that_this_user_may_not_take_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as a user that may take every port.
    monkeypatch.setattr("agui_bridge.http.server._listening", refuse)
    first, second = error_of("serve", "agents:bridge", "--port", "80")
    assert "Port 80 on 127.0.0.1 is not allowed to this user." in first
    assert "above 1023" in second


def test_others_than_this_machine_are_not_served_unless_it_is_said(folder: Path) -> None:
    first, second = error_of("serve", "agents:bridge", "--host", "0.0.0.0")
    assert "nothing says who they are" in first and "--anonymous" in second


def test_an_interrupt_while_it_starts_ends_it_without_a_trace(folder: Path) -> None:
    (folder / "slow.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        command("serve", "slow:bridge"),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None and process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=20)[1]
    assert (process.returncode, told) == (130, "")


@pytest.mark.parametrize(
    ("store", "label"),
    [
        ("postgresql://ann:secret@db:5432/x", "postgresql://ann:***@db:5432/x"),
        ("redis://:se/c@ret@db", "redis://:***@db"),
        ("postgresql://db/x?password=secret", "postgresql://db/x?…"),
        ("sqlite:///a.db", "sqlite:///a.db"),
    ],
)
def test_a_stores_address_is_shown_without_what_may_be_secret(store: str, label: str) -> None:
    assert banner.store_label(store) == label


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:1"),
        ("0.0.0.0", "http://127.0.0.1:1"),
        ("::1", "http://[::1]:1"),
    ],
)
def test_the_url_is_one_that_works_on_this_machine(host: str, url: str) -> None:
    assert banner.base_url(host, 1) == url


# --- adapters ---


def test_the_adapters_are_listed_with_what_they_lack(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    install(folder, "other", {"fine": "agents:bridge", "[bold]x": "needs_much:Adapter"})
    (folder / "needs_much.py").write_text("import much_that_nobody_has\n")
    lines = [line.rstrip().split(maxsplit=2) for line in invoke("adapters").stdout.splitlines()]
    assert lines[0] == ["adapter", "package", "state"]
    assert ["function", "agui-bridge", "ready"] in lines
    assert ["fine", "other", "ready"] in lines
    assert ["[bold]x", "other", 'missing: pip install "other"'] in lines
    listed = json.loads(invoke("adapters", "--json").stdout)
    assert {"name": "[bold]x", "package": "other", "missing": 'pip install "other"'} in listed


# --- schema ---


def test_the_schemas_are_listed_a_line_each(folder: Path) -> None:
    lines = [line.rstrip().split(maxsplit=1) for line in invoke("schema").stdout.splitlines()]
    assert [name for name, _ in lines] == sorted(name.removesuffix(".json") for name in documents())
    told = dict(lines)
    assert told["run-input"] == "The body of POST /agents/{agent}: AG-UI's RunAgentInput."
    for name, described in told.items():
        document = documents()[f"{name}.json"]
        whole = document.get("description") or document["info"]["description"]
        assert whole.startswith(described) and described.endswith(".")


@pytest.mark.parametrize("name", ["run-input", "run-input.json", "openapi"])
def test_a_schema_is_printed_as_json(folder: Path, name: str) -> None:
    printed = json.loads(invoke("schema", name).stdout)
    assert printed == documents()[f"{name.removesuffix('.json')}.json"]


def test_all_schemas_are_written_into_a_folder(folder: Path) -> None:
    count = len(documents())
    assert (
        invoke("schema", "--output", "made/here").stdout == f"{count} schemas are in made/here.\n"
    )
    written = {path.name: json.loads(path.read_text()) for path in Path("made/here").iterdir()}
    assert written == documents()
    assert "can't be written to" in error_of("schema", "--all", "agents.py/x")[0]
    assert "leave the name out" in error_of("schema", "openapi", "--output", "x")[0]


def test_an_unknown_schema_is_told_with_the_one_that_may_be_meant(folder: Path) -> None:
    assert error_of("schema", "run-imput") == [
        "error: There is no schema 'run-imput'.",
        "Did you mean run-input?",
    ]


def test_a_reader_that_goes_away_leaves_no_trace(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            command("schema", "run-input"),
            cwd=folder,
            env=environment(),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
        )
    finally:
        os.close(writing)
    assert done.stderr == ""
