"""The deployment example's nginx.conf in a real nginx, before replicas of here."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import httpx

from tests.support import unavailable
from tests.support.ports import free_port
from tests.support.target import ROOT

__all__ = ["behind_nginx"]

SITE: Final = ROOT / "examples" / "deployment" / "nginx" / "nginx.conf"
PATIENCE: Final = 20.0


@contextlib.contextmanager
def behind_nginx(folder: Path, ports: Sequence[int]) -> Iterator[str]:
    """Run nginx before the replicas on these ports; gives its base URL.

    The configuration is the example's own, with the addresses of here; `access.log` in the folder
    is what it logs.
    """
    program = _program()
    port = free_port()
    site = SITE.read_text(encoding="utf-8")
    site, replaced = re.subn(
        r"server bridge:8787(.*);",
        lambda found: "".join(f"server 127.0.0.1:{each}{found[1]};" for each in ports),
        site,
    )
    assert replaced == 1
    site, replaced = re.subn(r"listen 80;", f"listen 127.0.0.1:{port};", site)
    assert replaced == 1
    (folder / "site.conf").write_text(site)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    main = folder / "main.conf"
    main.write_text(
        f"pid {folder}/pid; daemon off; worker_processes 1; error_log stderr;\n"
        f"{'user root;' if os.geteuid() == 0 else ''}\n"
        f"events {{}}\nhttp {{ access_log {folder}/access.log; gzip on; gzip_types *; {folders}\n"
        f"include {folder}/site.conf; }}\n"
    )
    with (folder / "nginx.log").open("wb") as log:
        process = subprocess.Popen([program, "-c", str(main)], stderr=log)
        base = f"http://127.0.0.1:{port}"
        try:
            _await(base, process)
            yield base
        finally:
            process.terminate()
            process.wait(10)


def _program() -> str:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        unavailable("nginx", "install nginx, such as Debian's nginx-light")
    return found


def _await(base: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "nginx ended at once"
        try:
            if httpx.get(f"{base}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.02)
    raise AssertionError("nginx does not answer")
