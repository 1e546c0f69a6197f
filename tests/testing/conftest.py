"""Where the kit keeps the threads of its checks while these tests run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

MEMORY = "/dev/shm"


@pytest.fixture(scope="package", autouse=True)
def keep_in_memory() -> Iterator[None]:
    """In memory, where the system has such a folder: no power cut is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        if os.access(MEMORY, os.W_OK):
            patch.setattr(tempfile, "tempdir", MEMORY)
        yield
