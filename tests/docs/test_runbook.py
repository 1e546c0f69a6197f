"""docs/runbook.md: each case is brought about, and its commands print what stands there."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import serving
from tests.docs.pages import ROOT
from tests.otel.monitored import Bridge, is_told, lose_run, write_agents
from tests.support.ports import free_port
from tests.support.postgres import server
from tests.support.redis_server import RedisServer

PAGE = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
BLOCKS = dict(
    re.findall(r"^<!-- ([\w ]+) -->\n```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
)
ADDRESS = re.compile(r"http://127\.0\.0\.1:87\d\d")
VARYING = (
    (r"[\w-]+:hook:opened", "ID:hook:opened"),
    (r'"version":"[^"]+"', "VERSION"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"WyJ[\w-]+", "REF"),
    (r"after \d+ milliseconds", "after N milliseconds"),
    (r"^\d{10}$", "SECONDS"),
)

pytestmark = [pytest.mark.soak, pytest.mark.timeout(120)]


def alike(text: str) -> str:
    for pattern, name in VARYING:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text


def commands_of(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in BLOCKS[block].splitlines() if line.startswith("$ ")]


def printed(
    block: str, base: str = "", ref: str = "REF", folder: Path = ROOT, **variables: str
) -> str:
    """Run a block's commands; gives the block as a terminal would show it."""
    shown = ""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in commands_of(block):
        done = subprocess.run(
            ["bash", "-c", ADDRESS.sub(base, command).replace("REF", ref)],
            env={**os.environ, "PATH": path, "COLUMNS": "100", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
            cwd=folder,
        )
        shown += f"$ {command}\n{done.stdout}"
    return shown


def assert_shown(block: str, seen: str) -> None:
    assert alike(seen) == alike(BLOCKS[block])


@contextlib.contextmanager
def paused(folder: Path, *options: str, lost: bool = False) -> Iterator[tuple[Bridge, int]]:
    """A server with one open question, maybe one whose run was lost; and its process id."""
    write_agents(folder)
    if lost:
        lose_run(folder)
    with (
        serving(folder, "bridge.yaml", "--port", "0", *options) as running,
        Bridge(running.url) as bridge,
    ):
        bridge.ask("mail", "ann@example.com")
        assert running.process.pid is not None
        yield bridge, running.process.pid


def reference(bridge: Bridge, status: str) -> str:
    (row,) = bridge.http.get("/interrupts", params={"status": status}).json()["interrupts"]
    return str(row["ref"])


def test_an_indeterminate_run_is_found_and_its_answer_is_not_carried_out_again(
    tmp_path: Path,
) -> None:
    with paused(tmp_path, lost=True) as (bridge, _):
        is_told(lambda: "invoice-7" in bridge.http.get("/interrupts?status=indeterminate").text)
        ref, base = reference(bridge, "indeterminate"), str(bridge.http.base_url)

        assert_shown("indeterminate", printed("indeterminate", base, ref))
        assert_shown("answered again", printed("answered again", base, ref))


def test_a_question_shows_who_may_answer_and_is_cancelled(tmp_path: Path) -> None:
    with paused(tmp_path) as (bridge, _):
        ref, base = reference(bridge, "open"), str(bridge.http.base_url)

        assert_shown("cannot answer", printed("cannot answer", base, ref))
        assert_shown("cancel", printed("cancel", base, ref))


def test_a_removed_agents_questions_are_withdrawn(tmp_path: Path) -> None:
    with paused(tmp_path) as (bridge, _):
        ref = reference(bridge, "open")
    file = tmp_path / "bridge.yaml"
    file.write_text(re.sub(r"  mail: .*\n", "", file.read_text()))

    with serving(tmp_path, "bridge.yaml", "--port", "0") as running:
        assert_shown("removed agent", printed("removed agent", running.url, ref))
        with Bridge(running.url) as bridge:
            assert bridge.http.get("/interrupts", params={"status": "open"}).json()["count"] == 0


def test_a_removed_channels_notices_stay_queued_until_they_are_closed(tmp_path: Path) -> None:
    write_agents(tmp_path)
    file = tmp_path / "bridge.yaml"
    without = file.read_text()
    hook = "channels: {hook: {type: webhook, url_env: HOOK_URL, secret_env: HOOK_SECRET}}\n"
    file.write_text(without + hook)
    # Nobody listens there.
    variables = {
        "HOOK_URL": f"http://127.0.0.1:{free_port()}/",
        "HOOK_SECRET": f"whsec_{'Zm9v' * 8}",
    }
    with (
        serving(tmp_path, "bridge.yaml", "--port", "0", **variables) as running,
        Bridge(running.url) as bridge,
    ):
        bridge.ask("mail", "ann@example.com")
        is_told(lambda: "no answer" in bridge.http.get("/deliveries").text)
        # One that was killed counts as running for a while.
        running.process.send_signal(signal.SIGTERM)
        running.output()
    file.write_text(without)

    with serving(tmp_path, "bridge.yaml", "--port", "0"):
        assert_shown("removed channel", printed("removed channel", folder=tmp_path))
        assert_shown("another scope", printed("another scope", folder=tmp_path))
        assert_shown("close notices", printed("close notices", folder=tmp_path))
    file.write_text(without + "approvals: [{match: {tool: send}, notify: [hook]}]\n")
    refused = printed("rule of a removed channel", folder=tmp_path)
    assert_shown("rule of a removed channel", refused)


def test_a_full_disk_is_told_by_readyz(tmp_path: Path) -> None:
    with paused(tmp_path) as (bridge, pid):
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
        is_told(lambda: bridge.http.get("/readyz").status_code == 503)

        assert_shown("disk full", printed("disk full", str(bridge.http.base_url)))


def test_a_replica_that_stands_still_answers_nothing(tmp_path: Path) -> None:
    with paused(tmp_path) as (bridge, pid):
        os.kill(pid, signal.SIGSTOP)
        try:
            assert_shown("hangs", printed("hangs", str(bridge.http.base_url)))
        finally:
            os.kill(pid, signal.SIGCONT)


def test_a_store_that_is_gone_is_told_and_comes_back_by_itself(tmp_path: Path) -> None:
    with RedisServer() as redis, paused(tmp_path, "--store", redis.url) as (bridge, _):
        redis.kill()
        is_told(lambda: bridge.http.get("/readyz").status_code == 503)
        assert_shown("store down", printed("store down", str(bridge.http.base_url)))

        redis.start()
        is_told(lambda: bridge.http.get("/readyz").status_code == 200)


def test_the_clocks_are_shown() -> None:
    with RedisServer() as redis:
        shown = printed("clocks", DATABASE=server().dsn, REDIS_PORT=str(redis.port))
        assert_shown("clocks", shown)
