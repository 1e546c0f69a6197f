"""A copy of the checkout, in which one file at a time is broken and mended again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.seeded.fault import Fault

__all__ = ["ROOT", "Copy", "copied"]

ROOT: Final = Path(__file__).parents[2]


class Copy:
    """A copy of the checkout.

    Attributes:
        folder: its root.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def environment(self) -> dict[str, str]:
        """In which Python imports the copy, also in the processes that tests start.

        The package is installed from the checkout itself, which would be found otherwise.
        """
        paths = [self.folder, self.folder / "adapters"]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}

    @contextmanager
    def broken_by(self, fault: Fault) -> Iterator[None]:
        """Have a fault in the copy for the length of a block.

        Raises:
            ValueError: it does not fit.
        """
        path = self.folder / fault.file
        right = path.read_text(encoding="utf-8")
        _write(path, fault.applied_to(right))
        try:
            yield
        finally:
            _write(path, right)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    # Python tells what it compiled from the source by size and second, which may be the same.
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


@contextmanager
def copied() -> Iterator[Copy]:
    """A copy of all that Git tracks or could track, as it is now; it is deleted afterwards."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    with tempfile.TemporaryDirectory(prefix="agui-seeded-") as name:
        folder = Path(name)
        # A file that was deleted and not yet committed is listed all the same.
        for path in filter(None, names):
            if (source := ROOT / path).is_file():
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        yield Copy(folder)
