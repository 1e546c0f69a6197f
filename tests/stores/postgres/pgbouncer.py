"""A real PgBouncer in front of the test server."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import unavailable
from tests.support.ports import free_port
from tests.support.postgres import Server

START_SECONDS = 10.0

SETTINGS = """
[databases]
test = dbname=test user={server.user} host=127.0.0.1 port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = 3
logfile = {folder}/log
"""


@contextmanager
def pgbouncer(server: Server, mode: str) -> Iterator[int]:
    """Run one for as long as the block lasts; gives its port."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        unavailable("PgBouncer", "install it (apt-get install pgbouncer)")
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "users").write_text(f'"{server.user}" ""\n')
        settings = SETTINGS.format(server=server, port=port, mode=mode, folder=folder)
        (folder / "settings").write_text(settings)
        command = [program, "-q", str(folder / "settings")]
        if os.geteuid() == 0:
            # It refuses to run as root.
            nobody = pwd.getpwnam("nobody")
            for path in (folder, *folder.iterdir()):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
            command[1:1] = ["-u", "nobody"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            _await(port, process)
            yield port
        finally:
            process.kill()
            process.wait(10)


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, "pgbouncer ended at once"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "pgbouncer does not answer"
            time.sleep(0.02)
