"""Pages: checked, built, and served as files."""

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.support import unavailable

__all__ = [
    "ASSISTANT_UI",
    "CARDS",
    "COPILOTKIT",
    "TANSTACK_AI",
    "TDESIGN",
    "build",
    "run_script",
    "served",
]

ROOT: Final = Path(__file__).parents[3]

ASSISTANT_UI: Final = ROOT / "examples" / "assistant-ui"
CARDS: Final = ROOT / "examples" / "cards"
COPILOTKIT: Final = ROOT / "examples" / "copilotkit"
TANSTACK_AI: Final = ROOT / "examples" / "tanstack-ai"
TDESIGN: Final = ROOT / "tests" / "e2e" / "tdesign"


def build(page: Path, folder: Path, script: str = "build") -> None:
    """Check a page's types and build it into a folder."""
    run_script(page, "check")
    run_script(page, script, "--", "--outDir", str(folder), "--logLevel", "warn")


def run_script(page: Path, *command: str) -> None:
    """Run a script of a page's package; what it prints is told where it fails."""
    npm = shutil.which("npm")
    if npm is None:
        unavailable("npm", "install Node.js 20.19 or later")
    if not (page / "node_modules" / ".bin" / "vite").exists():
        where = page.relative_to(ROOT)
        unavailable(f"{where}/node_modules", "`make e2e` installs it, or npm ci does there")
    done = subprocess.run(
        [npm, "run", "--silent", *command],
        cwd=page,
        env={**os.environ, "SCARF_ANALYTICS": "false"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"npm run {command[0]}:\n{done.stdout}"


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of 127.0.0.1; gives the address."""
    handler = functools.partial(_Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
