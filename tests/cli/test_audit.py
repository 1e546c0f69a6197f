"""`agui-bridge audit`: what a bridge sealed is exported and verified, on every store."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agui_bridge.adapters import Run, RunItem
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli import app
from agui_bridge.cli.approvals.audit_chain import COLUMNS, csv_line
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.answers.asks import Ask, Pause
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import Principal, ThreadKey, ToolCall
from agui_bridge.stores.base import Expected, QuestionFilter
from agui_bridge.stores.open import open_store
from agui_bridge.testing import talk
from tests.processes.conftest import STORES
from tests.support.agents import Scripted, call_events, redacted, text_events

KEY = "k" * 40
ANN, BOB = Principal("team", "ann"), Principal("team", "bob")


def invoke(*args: str) -> Result:
    environment = {"AUDIT_KEY": KEY, "ANOTHER_KEY": "o" * 40, "NO_KEY": ""}
    return CliRunner().invoke(app, ["audit", *args], prog_name="agui-bridge", env=environment)


def verify(*args: str) -> Result:
    return invoke("verify", "--key-env", "AUDIT_KEY", *args)


async def decide(url: str, *threads: str) -> None:
    """Let bob approve what ann asked for, in each of some threads."""
    bridge = Bridge(url, audit_keys=[KEY])

    @bridge.agent("ops")
    async def ops(run: Any) -> AsyncIterator[str]:
        answer = await run.approve("delete_rows", {"table": "users"})
        await run.tool(answer, lambda table: f"deleted {table}")
        yield "Done."

    engine = await bridge.open()
    for thread in threads:
        body: dict[str, Any] = {"threadId": thread, "runId": "r", "protocolVersion": "1.0"}
        body["messages"] = [{"id": "m", "role": "user", "content": "go"}]
        pipe, _ = engine.submit(Submission(bridge.agents["ops"], ANN, parse_input(body)))
        while await pipe.read():
            pass
        (row,) = await engine.store.list_interrupts("team", QuestionFilter(thread=thread))
        await bridge.resume("ops", thread, {row.interrupt.id: {"approved": True}}, principal=BOB)
    await bridge.aclose()


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store in which two threads were decided."""
    address = STORES[request.param](tmp_path)
    asyncio.run(decide(address, "t-1", "t-2"))
    return address


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """A SQLite store in which two threads were decided."""
    address = STORES["sqlite"](tmp_path)
    asyncio.run(decide(address, "t-1", "t-2"))
    return address


def execute(url: str, statement: str) -> None:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_what_was_decided_is_exported_and_whole(url: str, tmp_path: Path) -> None:
    exported = invoke("export", "--store", url)
    assert exported.exit_code == 0, exported.output
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    assert [(row["thread"], row["status"], row["actor"]) for row in rows] == [
        (thread, *told)
        for thread in ("t-1", "t-2")
        for told in (("open", "agent"), ("claimed", "bob"), ("resolved", "bob"))
    ]
    assert {row["tool"] for row in rows} == {"delete_rows"}

    judged = verify("--store", url)
    assert (judged.exit_code, judged.stdout) == (0, "6 rows of 2 threads: whole.\n")
    file = tmp_path / "audit.jsonl"
    file.write_text(exported.stdout)
    judged = verify(str(file), "--anchor", str(file))
    assert (judged.exit_code, judged.stdout) == (0, "6 rows of 2 threads: whole.\n")


MAIL, HIDDEN = "Her mail is eve@home.example.", "Her mail is hidden."


async def _taken_back(url: str) -> str:
    """Have an agent redact what it said before an approval; gives what the thread has then."""
    asked = Ask("c", "tool_call", "Pay?", tool_call=ToolCall("c", "pay", {"to": "eve"}))

    async def paying(run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            for event in text_events("m1", MAIL):
                yield event
            for event in call_events("c", "pay", '{"to": "eve"}'):
                yield event
            yield Pause([asked])
            return
        yield redacted(run, MAIL, HIDDEN)

    bridge = Bridge("memory:", audit_keys=[KEY])
    bridge.add("ops", Scripted(paying))
    async with talk(bridge, "ops", store=url) as one:
        waits = await one.say("Pay her.")
        assert (await one.answer(waits, {"approved": True})).ending == "success"
        return str(await one.messages())


@pytest.mark.parametrize("store", STORES)
def test_words_that_an_agent_redacts_have_a_row_and_leave_the_chain_whole(
    store: str, tmp_path: Path
) -> None:
    url = STORES[store](tmp_path)
    kept = asyncio.run(_taken_back(url))
    assert (HIDDEN in kept, "eve@" in kept) == (True, False)
    exported = invoke("export", "--store", url).stdout
    rows = [json.loads(line) for line in exported.splitlines()]
    assert [row["status"] or row["event"] for row in rows] == [
        *("open", "claimed", "redacted", "resolved")
    ]
    assert (rows[2]["messageId"], rows[2]["run"], rows[2]["actor"]) == ("m1", "run-2", "agent")
    assert "eve@" not in exported
    whole = "4 rows of 1 thread: whole.\n1 row of these tells of words that an agent redacted.\n"
    judged = verify("--store", url)
    assert (judged.exit_code, judged.stdout) == (0, whole)
    file = tmp_path / "audit.jsonl"
    file.write_text(exported)
    judged = verify(str(file), "--anchor", str(file))
    assert (judged.exit_code, judged.stdout) == (0, whole)
    table = list(
        csv.DictReader(io.StringIO(invoke("export", "--store", url, "--format", "csv").stdout))
    )
    assert (table[2]["event"], table[2]["messageId"]) == ("redacted", "m1")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            f"UPDATE agui_messages SET data = replace(data, '{HIDDEN}', '{MAIL}')",
            "row 3: message m1 was changed since it was redacted",
        ),
        ("UPDATE agui_audit SET data = replace(data, 'm1', 'm2')", "row 3: it was changed after"),
        ("DELETE FROM agui_audit WHERE data LIKE '%redacted%'", "row 3: row 3 is missing"),
    ],
)
def test_harm_to_what_was_redacted_is_told(tmp_path: Path, statement: str, said: str) -> None:
    url = STORES["sqlite"](tmp_path)
    asyncio.run(_taken_back(url))
    execute(url, statement)
    judged = verify("--store", url)
    assert (judged.exit_code, said in judged.stdout) == (1, True), judged.stdout


def test_deleting_a_thread_leaves_its_chain_whole(url: str, tmp_path: Path) -> None:
    file = tmp_path / "before.jsonl"
    assert invoke("export", "--store", url, "--output", str(file)).exit_code == 0

    async def delete() -> None:
        store = await open_store(url)
        key = ThreadKey("team", "ops", "t-1")
        record = (await store.load(key)).record
        assert record is not None
        await store.delete(key, Expected(version=record.version))
        await store.aclose()

    asyncio.run(delete())
    alone = verify("--store", url)
    assert alone.exit_code == 0
    assert "Threads that no longer exist: 1. Only --anchor shows" in alone.stdout
    anchored = verify("--store", url, "--anchor", str(file))
    assert (anchored.exit_code, anchored.stdout) == (0, "6 rows of 2 threads: whole.\n")

    pruned = invoke("prune", "--store", url, "--older-than", "0d")
    assert pruned.stdout.startswith("The rows of 1 thread were deleted from"), pruned.output
    missed = verify("--store", url, "--anchor", str(file))
    assert missed.exit_code == 1
    assert "team/ops/t-1, chain " in missed.stdout
    assert "all of its rows are missing: before.jsonl has 3 of them" in missed.stdout


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE agui_audit SET data = replace(data, 'bob', 'eve') WHERE thread = 't-1'",
            "row 2: it was changed after it was sealed",
        ),
        (
            "DELETE FROM agui_audit WHERE thread = 't-1' AND id LIKE '%2'",
            "row 2: row 2 is missing",
        ),
        (
            "DELETE FROM agui_audit WHERE thread = 't-1' AND id LIKE '%3'",
            "row 3: row 3 is missing: the thread's record has them",
        ),
        (
            "UPDATE agui_interrupts SET data = replace(data, 'users', 'posts')"
            " WHERE thread = 't-1'",
            "was changed since: its arguments",
        ),
        (
            "UPDATE agui_interrupts SET data = replace(data, '\"approved\":true',"
            " '\"approved\":false') WHERE thread = 't-1'",
            "was changed since: its answer",
        ),
    ],
)
def test_harm_is_told_with_its_place(sqlite: str, statement: str, said: str) -> None:
    execute(sqlite, statement)
    judged = verify("--store", sqlite)
    assert judged.exit_code == 1
    assert judged.stdout.startswith("team/ops/t-1, chain ")
    assert said in judged.stdout
    assert "t-2" not in judged.stdout


def test_a_chain_without_rows_is_found_where_its_thread_is_named(sqlite: str) -> None:
    """What docs/audit.md says is not found without a name or an anchor."""
    execute(sqlite, "DELETE FROM agui_audit WHERE thread = 't-1'")
    assert verify("--store", sqlite).exit_code == 0
    names = ("--scope", "team", "--agent", "ops", "--thread", "t-1")
    judged = verify("--store", sqlite, *names)
    assert judged.exit_code == 1
    assert "rows 1 to 3 are missing" in judged.stdout


@pytest.mark.parametrize("harm", ["cut off", "all of it", "an anchor that was changed", "none"])
def test_the_heads_of_an_export_pin_the_ends_of_the_chains(
    sqlite: str, tmp_path: Path, harm: str
) -> None:
    file = tmp_path / "heads.jsonl"
    assert invoke("export", "--store", sqlite, "--heads", "--output", str(file)).exit_code == 0
    assert [json.loads(line)["seq"] for line in file.read_text().splitlines()] == [3, 3]
    if harm == "cut off":
        # With the head of the record, so that nothing in the store tells of it.
        execute(sqlite, "DELETE FROM agui_audit WHERE thread = 't-1' AND id LIKE '%3'")
        execute(sqlite, "DELETE FROM agui_threads WHERE thread = 't-1'")
    elif harm == "all of it":
        execute(sqlite, "DELETE FROM agui_audit WHERE thread = 't-1'")
    elif harm == "an anchor that was changed":
        file.write_text(file.read_text().replace('"seq":3', '"seq":2', 1))
    judged = verify("--store", sqlite, "--since", str(file))
    said = {
        "cut off": "row 3: row 3 is missing: heads.jsonl has them",
        "all of it": "all of its rows are missing: heads.jsonl has 3 of them",
        "an anchor that was changed": "heads.jsonl: line 1 was changed after it was sealed.",
        "none": "6 rows of 2 threads: whole.",
    }
    code = {"an anchor that was changed": 2, "none": 0}.get(harm, 1)
    assert (judged.exit_code, said[harm] in judged.output) == (code, True), judged.output


def test_an_export_with_lines_in_another_order_or_damaged_is_told(
    sqlite: str, tmp_path: Path
) -> None:
    lines = invoke("export", "--store", sqlite, "--scope", "team").stdout.splitlines()
    file = tmp_path / "audit.jsonl"
    file.write_text("\n".join([lines[0], lines[2], lines[1], "{}", *lines[3:]]))
    judged = verify(str(file))
    assert judged.exit_code == 1
    assert "row 2: it stands behind a later one, or twice" in judged.stdout
    assert "the export: line 4 is no row" in judged.stdout


def test_another_key_verifies_nothing(sqlite: str) -> None:
    judged = invoke("verify", "--store", sqlite, "--key-env", "ANOTHER_KEY")
    assert judged.exit_code == 1
    assert "which is not among those given" in judged.stdout


def test_a_spreadsheet_gets_no_formula(sqlite: str) -> None:
    exported = invoke("export", "--store", sqlite, "--format", "csv").stdout
    table = list(csv.reader(io.StringIO(exported)))
    assert tuple(table[0]) == COLUMNS
    assert len(table) == 7
    row = AuditRow("w.000000001", 1.0, json.dumps({"actor": '=HYPERLINK("http://x")', "at": 1.0}))
    assert "'=HYPERLINK" in csv_line(row)
    assert csv_line(replace(row, data="damaged")).startswith("1.0,")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("--key-env", "NO_KEY", "--store", "memory:"),
            "NO_KEY, which should hold an audit key, is not set",
        ),
        (("--key-env", "AUDIT_KEY"), "Say which store: name the configuration file"),
        (("--store", "sqlite:///agents.db"), "Say which keys seal the rows"),
        (("--key-env", "AUDIT_KEY", "--store", "memory:"), "only the server itself can see"),
        (("--key-env", "AUDIT_KEY", "--store", "memory:", "--agent", "a"), "all of --scope"),
        (("--key-env", "AUDIT_KEY", "gone.jsonl"), "There is no file gone.jsonl"),
        (("--key-env", "AUDIT_KEY", "audit.csv"), "is CSV, which can't be verified"),
    ],
)
def test_what_is_missing_is_told(args: tuple[str, ...], said: str) -> None:
    result = invoke("verify", *args)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_configuration_file_names_the_store_and_the_keys(sqlite: str, tmp_path: Path) -> None:
    agents = "agents: {ops: {function: nowhere:ops}}"
    file, bare = tmp_path / "bridge.yaml", tmp_path / "bare.yaml"
    file.write_text(f"store: {sqlite}\naudit: {{keys_env: [AUDIT_KEY]}}\n{agents}\n")
    bare.write_text(f"store: {sqlite}\n{agents}\n")
    others = tmp_path / "others.yaml"
    others.write_text(f"store: {sqlite}\naudit: {{keys_env: [ANOTHER_KEY]}}\n{agents}\n")

    exported = invoke("export", str(file))
    assert exported.stdout == invoke("export", "--store", sqlite).stdout != ""
    judged = invoke("verify", str(file))
    assert (judged.exit_code, judged.stdout) == (0, "6 rows of 2 threads: whole.\n")
    assert invoke("verify", str(others)).exit_code == 1
    assert invoke("verify", str(others), "--key-env", "AUDIT_KEY").exit_code == 0
    assert "Say which keys" in invoke("verify", str(bare)).stderr
    pruned = invoke("prune", str(file), "--older-than", "0d")
    assert pruned.stdout.startswith("The rows of 0 threads were deleted from"), pruned.output
