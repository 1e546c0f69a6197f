"""One peer as a process, and what there is to start."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from agui_bridge_agui.peers import PeerName
from tests.support.ports import free_port

__all__ = ["ENVIRONMENT", "VARIANTS", "Variant", "python_of", "running"]

ROOT: Final = Path(__file__).parents[3]
START_SECONDS: Final = 120.0

ENVIRONMENT: Final[Mapping[str, str]] = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OTEL_SDK_DISABLED": "true",
}
"""Of every peer: none calls home, which would take it a while to give up."""

PROMPTS: Final[Mapping[str, str]] = {
    "approval": "send {marker}",
    "parallel": "both {marker}",
    "text": "hello {marker}",
    "slow": "slow 60",
    "frontend": "paint {marker}",
}
"""What `script.py` heeds, as the conformance kit's configuration has it."""


@dataclass(frozen=True)
class Variant:
    """A peer in one of its ways.

    Attributes:
        module: of this package.
        options: of its command line.
        path: where its runs are posted.
        peer: the proxy's option, where `auto` is not meant.
        edits: whether edited arguments can be approved.
        at_once: how many conversations its own store bears.
        memory: whether it keeps the conversation, so that its clients need not.
        shared: whether what waits lies in its process alone, so that one process stands behind
            every bridge.
        asks: how its questions look; those that say it are judged for docs/matrix.md.
        prompts: what makes its model do what the conformance kit needs, by the kit's names.
        answers: payloads as it understands them, by the kit's names, where they are its own.
        translated: whether the bridge asks in AG-UI's shape instead, so that they are meant for the
            peer alone.
    """

    module: str
    options: tuple[str, ...] = ()
    path: str = "/"
    peer: PeerName = "auto"
    edits: bool = False
    at_once: int = 8
    memory: bool = True
    shared: bool = False
    asks: str = ""
    prompts: Mapping[str, str] = field(default_factory=lambda: PROMPTS)
    answers: Mapping[str, Any] = field(default_factory=dict)
    translated: bool = False


def _langgraph(gate: str, outcome: str, asks: str = "") -> Variant:
    options = ("--gate", gate, "--outcome", outcome)
    # The application's own tools would take a middleware that reads them from the state.
    prompts = {verb: PROMPTS[verb] for verb in PROMPTS if verb != "frontend"}
    return Variant("langgraph", options, edits=gate == "tool", asks=asks, prompts=prompts)


def _crewai(outcome: str, asks: str = "") -> Variant:
    prompts = {"confirmation": "send {marker}", **PROMPTS}
    return Variant(
        "crewai",
        ("--outcome", outcome),
        asks=asks,
        prompts={verb: prompts[verb] for verb in ("approval", "confirmation", "text", "slow")},
        answers={"approve": "approved", "deny": "rejected", "confirm": "approved"},
    )


VARIANTS: Final = {
    "pydantic-ai": Variant(
        "pydantic_ai",
        edits=True,
        memory=False,
        asks="interrupts of the outcome with a `responseSchema`",
    ),
    "langgraph": _langgraph(
        "tool",
        "yes",
        "`interrupt()` with AG-UI's members, told in the outcome and as CUSTOM events",
    ),
    "langgraph-custom": _langgraph("tool", "no"),
    "langgraph-text": _langgraph("text", "no"),
    "langgraph-batched": _langgraph(
        "batched",
        "no",
        "CUSTOM events `on_interrupt` alone, as it is by default, of langchain's "
        "HumanInTheLoopMiddleware",
    ),
    "langgraph-per-call": _langgraph("per_call", "no"),
    "agent-framework": Variant(
        "agent_framework",
        edits=True,
        memory=False,
        shared=True,
        asks="interrupts of the outcome with a `responseSchema`, and CUSTOM events besides",
    ),
    "agno": Variant("agno", path="/agui", asks="calls without a result; tool messages answer"),
    "adk": Variant(
        "adk",
        at_once=1,
        asks="calls of `adk_request_confirmation`, and interrupts of the outcome",
    ),
    "adk-named": Variant("adk", peer="adk", at_once=1),
    "adk-custom": Variant("adk", ("--outcome", "no"), at_once=1),
    "adk-resumable": Variant("adk", ("--resumable", "yes"), at_once=1),
    "crewai": _crewai(
        "yes", "one interrupt of the outcome about the whole flow, with two answers to choose from"
    ),
    "crewai-custom": _crewai("no"),
    "strands": Variant("strands", asks="interrupts of the outcome with a `responseSchema`"),
    "ag2": Variant(
        "ag2",
        memory=False,
        shared=True,
        asks="interrupts of the outcome, one after the other, with a `responseSchema` of its own: "
        "a boolean or a text",
        prompts={verb: PROMPTS[verb] for verb in PROMPTS if verb != "parallel"},
        answers={"approve": True, "deny": False},
        translated=True,
    ),
}
"""What is recorded and judged, by name."""


def python_of(module: str, environments: Path) -> Path:
    """The interpreter that has a peer's packages."""
    return environments / module / "bin" / "python"


@contextlib.contextmanager
def running(variant: Variant, environments: Path, folder: Path, effects: Path) -> Iterator[str]:
    """Run a peer; gives the address of its runs.

    It ends when its standard input does, so that it never outlives this process.
    """
    port = free_port()
    command = [str(python_of(variant.module, environments)), "-m"]
    command += [f"tests.servers.peers.{variant.module}", "--pipe", "--port", str(port)]
    command += ["--effects", str(effects), "--folder", str(folder), *variant.options]
    log = folder / f"{variant.module}-{port}.log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=written,
        ) as process,
    ):
        try:
            _await(f"http://127.0.0.1:{port}/openapi.json", process, log)
            yield f"http://127.0.0.1:{port}{variant.path}"
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url, trust_env=False)
            return
        time.sleep(0.1)
    raise SystemExit(f"It does not start: {log.read_text(errors='replace')[-2000:]}")
