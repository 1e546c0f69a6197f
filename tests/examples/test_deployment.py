"""The deployment example: its files fit together, and events pass through its proxy at once."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.cli.processes import environment
from tests.examples.caddy import behind_caddy
from tests.examples.nginx import behind_nginx
from tests.support.commands import Command
from tests.support.target import ROOT, Target, approve

FOLDER = ROOT / "examples" / "deployment"
PATIENCE = 20.0

pytestmark = [pytest.mark.soak]


# --- the files ---


@pytest.fixture
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_two_replicas_are_behind_the_proxy_with_a_store_of_either_kind(
    compose: dict[str, Any],
) -> None:
    services = compose["services"]
    assert services["bridge"]["deploy"]["replicas"] == 2
    assert "ports" not in services["bridge"], "only the proxy is reached from outside"
    assert {n: s["profiles"] for n, s in services.items() if "profiles" in s} == {
        "redis": ["redis"],
        "postgres": ["postgres"],
    }
    for service in services.values():
        assert "build" in service or ":" in service["image"], "an image has a version"
        assert set(service.get("depends_on", {})) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            known = (FOLDER / source).is_file() if source.startswith(".") else True
            assert known
            assert source.startswith(".") or source in compose["volumes"]
    built = services["bridge"]["build"]
    assert (FOLDER / built["context"] / built["dockerfile"]).resolve() == FOLDER / "Dockerfile"


def test_replicas_get_more_time_to_end_than_they_take(compose: dict[str, Any]) -> None:
    config = yaml.safe_load((FOLDER / "bridge.yaml").read_text(encoding="utf-8"))
    grace = float(compose["services"]["bridge"]["stop_grace_period"].removesuffix("s"))
    # cancel_grace is 5 by default, and a flush takes 5 at most.
    assert grace >= config["settings"]["shutdown_grace"] + 2 * 5 + 5


def test_the_image_gets_all_that_is_built_and_all_that_it_copies() -> None:
    ignore = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    passed = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    # pip makes the wheel of the folder itself; what only the sdist has is of no use there.
    built = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert {*built, "pyproject.toml", "LICENSE", "README.md", "constraints.txt"} <= passed
    copied = [
        source
        for line in (FOLDER / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("COPY ")
        for source in line.split()[1:-1]
    ]
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert copied == [".", "examples/deployment/bridge.yaml", "examples/deployment/agents.py"]
    assert ignore[0] == "*"


def test_the_image_has_the_extras_that_its_configuration_needs_and_takes_others() -> None:
    lines = (FOLDER / "Dockerfile").read_text(encoding="utf-8").splitlines()
    (given,) = (line.partition("=")[2] for line in lines if line.startswith("ARG EXTRAS="))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert {"postgres", "redis", "otel", "inbox"} <= set(given.split(","))
    assert set(given.split(",")) <= set(project["project"]["optional-dependencies"])
    assert any('"/build[${EXTRAS}]"' in line for line in lines)


def test_the_configuration_is_right(tmp_path: Path) -> None:
    for name in ("bridge.yaml", "agents.py"):
        shutil.copy(FOLDER / name, tmp_path)
    variables = {
        "BRIDGE_TOKEN": "a-token-of-some-length",
        "AGUI_BRIDGE_STORE": f"sqlite:///{tmp_path / 'a.db'}",
    }
    process = Command(
        "agui_bridge",
        *("check", "bridge.yaml"),
        cwd=tmp_path,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        assert "bridge.yaml is fine: 1 agent (mail)" in process.stdout.read().decode()
    finally:
        process.close()


# --- the unit ---


UNIT = FOLDER / "systemd" / "agui-bridge@.service"


def test_a_replica_under_systemd_has_more_time_to_end_than_it_takes() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # as the standard library says
    unit.read(UNIT, encoding="utf-8")
    service = unit["Service"]
    config = yaml.safe_load((FOLDER / "bridge.yaml").read_text(encoding="utf-8"))
    assert float(service["TimeoutStopSec"]) >= config["settings"]["shutdown_grace"] + 2 * 5 + 5
    program, *arguments = service["ExecStart"].split()
    assert Path(program).name == "agui-bridge"
    assert arguments == ["serve", "bridge.yaml", "--host", "127.0.0.1", "--port", "%i"]


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("only on machines with systemd")
    unit = UNIT.read_text(encoding="utf-8")
    # What it starts must be there.
    unit, replaced = re.subn(r"ExecStart=\S+", f"ExecStart={shutil.which('true')}", unit)
    assert replaced == 1
    here = tmp_path / "agui-bridge@8787.service"
    here.write_text(unit)
    found = subprocess.run(
        [program, "verify", str(here)], capture_output=True, text=True, timeout=60, check=False
    )
    told = [line for line in found.stderr.splitlines() if "agui-bridge" in line]
    assert (found.returncode, told) == (0, [])


# --- the proxies ---


@dataclass
class Proxied:
    """Two replicas, and a client that reaches them through a proxy."""

    replicas: tuple[Target, Target]
    http: httpx.Client


@pytest.fixture(params=[behind_nginx, behind_caddy])
def proxied(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Proxied]:
    """The example's own configuration, with the addresses of here."""
    with (
        Target(tmp_path) as one,
        Target(tmp_path) as two,
        request.param(tmp_path, [one.port, two.port]) as base,
        httpx.Client(base_url=base, timeout=30) as http,
    ):
        yield Proxied((one, two), http)


def body(thread: str, text: str | None, **more: Any) -> dict[str, Any]:
    said = [] if text is None else [{"id": os.urandom(4).hex(), "role": "user", "content": text}]
    ids = {"threadId": thread, "runId": os.urandom(4).hex(), "protocolVersion": "1.0"}
    return {**ids, "messages": said, **more}


def test_an_event_passes_the_proxy_while_its_run_goes_on(proxied: Proxied) -> None:
    stream = proxied.http.stream("POST", "/agents/target", json=body("slow", "slow 100"))
    with stream as response:
        assert "content-encoding" not in response.headers
        lines = response.iter_lines()
        first = next(line for line in lines if "TEXT_MESSAGE_CONTENT" in line)
        # Its tokens take five seconds: had they been collected, the run would be over.
        assert proxied.replicas[0].thread("slow")["status"] == "running"
        assert json.loads(first.removeprefix("data: "))["delta"] == "0 "


def test_a_client_that_goes_away_is_noticed_behind_the_proxy(proxied: Proxied) -> None:
    stream = proxied.http.stream("POST", "/agents/target", json=body("gone", "slow 400"))
    with stream as response:
        next(line for line in response.iter_lines() if "TEXT_MESSAGE_CONTENT" in line)
    deadline = time.monotonic() + PATIENCE
    while proxied.replicas[0].thread("gone")["status"] == "running":
        assert time.monotonic() < deadline, "the run goes on for nobody"
        time.sleep(0.02)


def test_a_read_goes_to_the_next_replica_when_one_is_gone(proxied: Proxied) -> None:
    proxied.replicas[0].kill()
    assert [proxied.http.get("/readyz").status_code for _ in range(4)] == [200] * 4


@pytest.mark.parametrize("proxied", [behind_nginx], indirect=True)
def test_a_link_stands_in_no_log(proxied: Proxied, tmp_path: Path) -> None:
    link = "a-link.that-is-a-password"
    for each in proxied.replicas:
        each.kill()  # What could not be passed on is an error, which nginx logs with its path.
    for path in (f"/d/{link}", f"/d/{link}?here=1", f"/%64/{link}", "/agents"):
        assert proxied.http.get(path).status_code == 502
    access, errors = (tmp_path / name for name in ("access.log", "nginx.log"))
    deadline = time.monotonic() + PATIENCE  # nginx logs a request once it has answered it.
    while not all("GET /agents" in log.read_text() for log in (access, errors)):
        assert time.monotonic() < deadline, access.read_text() + errors.read_text()
        time.sleep(0.02)
    assert link not in access.read_text() + errors.read_text()


# Caddy of Debian loses the body of a POST whose replica refused the connection.
@pytest.mark.parametrize("proxied", [behind_nginx], indirect=True)
def test_answers_reach_any_replica_and_one_may_be_lost(proxied: Proxied) -> None:
    def send(text: str | None, **more: Any) -> list[dict[str, Any]]:
        answer = proxied.http.post("/agents/target", json=body("any", text, **more))
        lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]

    asked = send("send any")[-1]["outcome"]["interrupts"][0]
    proxied.replicas[0].kill()

    for _ in range(4):
        assert send(None, resume=[approve(asked)])[-1]["outcome"]["type"] == "success"
    assert len(proxied.replicas[1].effects) == 1
