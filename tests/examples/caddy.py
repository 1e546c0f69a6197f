"""The deployment example's Caddyfile in a real Caddy, before replicas of here."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.support.ports import free_port
from tests.support.target import ROOT
from tests.support.waiting import wait_until

__all__ = ["behind_caddy"]

SITE: Final = ROOT / "examples" / "deployment" / "caddy" / "Caddyfile"
PATIENCE: Final = 30.0


@contextlib.contextmanager
def behind_caddy(folder: Path, ports: Sequence[int]) -> Iterator[str]:
    """Run Caddy before the replicas on these ports; gives its base URL.

    The configuration is the example's own, with the addresses of here.
    """
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("only on machines with Caddy, such as Debian's package caddy")
    base = f"http://127.0.0.1:{free_port()}"
    site = SITE.read_text(encoding="utf-8")
    replicas = " ".join(f"127.0.0.1:{each}" for each in ports)
    site, replaced = re.subn(r"dynamic a bridge 8787 \{.*?\}", f"to {replicas}", site, flags=re.S)
    assert replaced == 1
    site, replaced = re.subn(r"(?m)^:80 ", f"{base} ", site)
    assert replaced == 1
    config = folder / "Caddyfile"
    config.write_text(site)
    own = {f"XDG_{kind}_HOME": str(folder) for kind in ("CONFIG", "DATA")}
    command = [program, "run", "--config", str(config), "--adapter", "caddyfile"]
    with (folder / "caddy.log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log, env={**os.environ, **own})
        try:
            wait_until(lambda: _answers(base, process), PATIENCE)
            yield base
        finally:
            process.terminate()
            process.wait(30)


def _answers(base: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "Caddy ended at once"
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{base}/readyz").status_code == 200
    return False
