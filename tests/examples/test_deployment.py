"""The deployment example: its files fit together, and events pass through its proxy at once."""

from __future__ import annotations

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
from tests.support import unavailable
from tests.support.commands import Command
from tests.support.ports import free_port
from tests.support.target import ROOT, Target, approve

FOLDER = ROOT / "examples" / "deployment"
PATIENCE = 20.0

pytestmark = [pytest.mark.slow]


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
    build = project["tool"]["hatch"]["build"]["targets"]
    assert {*build["wheel"]["only-include"], *build["sdist"]["only-include"]} <= passed
    copied = [
        source
        for line in (FOLDER / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("COPY ")
        for source in line.split()[1:-1]
    ]
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert copied == [".", "examples/deployment/bridge.yaml", "examples/deployment/agents.py"]
    assert ignore[0] == "*"


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


# --- the proxy ---


@dataclass
class Proxied:
    """Two replicas, and a client that reaches them through nginx."""

    replicas: tuple[Target, Target]
    http: httpx.Client


def nginx() -> str:
    """The program."""
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        unavailable("nginx", "install nginx, such as Debian's nginx-light")
    return found


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Proxied]:
    """The example's own configuration, with the addresses of here."""
    program = nginx()
    port = free_port()
    with Target(tmp_path) as one, Target(tmp_path) as two:
        site = (FOLDER / "nginx.conf").read_text(encoding="utf-8")
        upstream = "".join(f"server 127.0.0.1:{t.port};" for t in (one, two))
        site, replaced = re.subn(r"server bridge:8787;", upstream, site)
        assert replaced == 1
        site, replaced = re.subn(r"listen 80;", f"listen 127.0.0.1:{port};", site)
        assert replaced == 1
        (tmp_path / "site.conf").write_text(site)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
        main = tmp_path / "main.conf"
        main.write_text(
            f"pid {tmp_path}/pid; daemon off; worker_processes 1; error_log stderr;\n"
            f"{'user root;' if os.geteuid() == 0 else ''}\n"
            f"events {{}}\nhttp {{ access_log off; gzip on; gzip_types *; {folders}\n"
            f"include {tmp_path}/site.conf; }}\n"
        )
        with (tmp_path / "nginx.log").open("wb") as log:
            process = subprocess.Popen([program, "-c", str(main)], stderr=log)
            base = f"http://127.0.0.1:{port}"
            try:
                with httpx.Client(base_url=base, timeout=30) as http:
                    _await(http, process)
                    yield Proxied((one, two), http)
            finally:
                process.terminate()
                process.wait(10)


def _await(http: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "nginx ended at once"
        try:
            if http.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.02)
    raise AssertionError("nginx does not answer")


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
