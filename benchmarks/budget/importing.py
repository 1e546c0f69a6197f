"""What it costs to import the package, and to ask the command line, in fresh interpreters."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable

from benchmarks.contenders.process import ROOT, environment
from benchmarks.measuring.plan import Plan
from benchmarks.measuring.rounds import interleave
from benchmarks.rows import BenchmarkBroken, Row, ratio

# The peak that getrusage gives may be that of the process before the new program was loaded.
_REPORT = """
import re, resource, sys
use = resource.getrusage(resource.RUSAGE_SELF)
try:
    peak = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024
except OSError:
    peak = use.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(use.ru_utime + use.ru_stime, peak)
"""


def _importer(statement: str, peaks: list[float]) -> Callable[[], float]:
    def measure() -> float:
        run = subprocess.run(
            [sys.executable, "-c", f"{statement}\n{_REPORT}"],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment(),
        )
        if run.returncode:
            raise BenchmarkBroken(f"{statement} fails:\n{run.stderr}")
        seconds, peak = map(float, run.stdout.split())
        peaks.append(peak / 1024 / 1024)
        return seconds * 1_000

    return measure


def _help() -> float:
    """CPU milliseconds of `agui-bridge --help`."""
    before = _children()
    subprocess.run(
        [sys.executable, "-m", "agui_bridge", "--help"],
        stdout=subprocess.DEVNULL,
        check=True,
        cwd=ROOT,
        env=environment(),
    )
    return (_children() - before) * 1_000


def _children() -> float:
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def importing(plan: Plan) -> list[Row]:
    """CPU time and memory of `import agui_bridge`, the interpreter's own included."""
    peaks: list[float] = []
    with_bridge: list[float] = []
    samples = interleave(
        {
            "ours": _importer("import agui_bridge", peaks),
            "bridge": _importer("from agui_bridge import Bridge", with_bridge),
            "parts": _importer("import starlette.applications, uvicorn, pydantic, ag_ui.core", []),
            "help": _help,
        },
        plan.imports,
    )
    return [
        Row("import/cpu", "import agui_bridge: CPU time", "ms", samples["ours"], at_most=400),
        Row(
            "import/memory",
            "import agui_bridge: memory of the process",
            "MB",
            tuple(peaks[1:]),
            at_most=42,
        ),
        Row("import/help", "agui-bridge --help: CPU time", "ms", samples["help"], at_most=250),
        Row(
            "import/bridge",
            "from agui_bridge import Bridge: CPU time",
            "ms",
            samples["bridge"],
            at_most=400,
        ),
        Row(
            "import/bridge-memory",
            "from agui_bridge import Bridge: memory of the process",
            "MB",
            tuple(with_bridge[1:]),
            at_most=42,
        ),
        ratio(
            "import/parts",
            "from agui_bridge import Bridge / starlette, uvicorn, pydantic and ag_ui: CPU",
            samples,
            "bridge",
            "parts",
        ),
    ]
