"""Install a wheel into an empty environment, and have it serve the README's agent on SQLite.

    python .ci/try_wheel.py FOLDER

FOLDER has one wheel. The agent is asked over HTTP, its question answered, its tool run once.
Needs a package index for what the wheel depends on. Runs on Linux, macOS and Windows.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def main(wheels: Path) -> None:
    """Try the wheel; raises where something is not as the README says."""
    (wheel,) = wheels.resolve().glob("*.whl")
    agent = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.S | re.M
    )[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        here = Path(folder)
        venv.create(here / "venv", with_pip=True)
        python = here / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
        (here / "agents.py").write_text(agent, encoding="utf-8")
        command = [str(python), "-m", "agui_bridge", "serve", "agents:bridge", "--port", "0"]
        with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True) as server:
            try:
                served(server)
            finally:
                server.terminate()
    print(f"{wheel.name}: asked, answered, executed once")


def served(server: subprocess.Popen[str]) -> None:
    """Ask the agent of a server that starts, and approve."""
    assert server.stdout is not None
    address = next(
        found[0] for line in server.stdout if (found := re.search(r"http://[\d.]+:\d+", line))
    )
    asked = run(address, "r1", messages=[{"id": "u1", "role": "user", "content": "clean up"}])
    (question,) = asked[-1]["outcome"]["interrupts"]
    entry = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
    answered = run(address, "r2", messages=[], resume=[entry])
    text = "".join(e["delta"] for e in answered if e["type"] == "TEXT_MESSAGE_CONTENT")
    if "1234 rows of users deleted" not in text:
        raise SystemExit(f"the answer's run said {text!r}")


def run(address: str, run_id: str, **members: Any) -> list[dict[str, Any]]:
    """The events of a run."""
    body = {"threadId": "t1", "runId": run_id, **members}
    request = urllib.request.Request(
        f"{address}/agents/ops", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as stream:
        lines = stream.read().decode().splitlines()
    return [json.loads(line[5:]) for line in lines if line.startswith("data:")]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
