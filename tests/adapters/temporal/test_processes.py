"""Worker, Temporal and bridges as processes: killed between question and answer, and racing."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.temporal.bench import Bench, bench
from tests.support.postgres import postgres_url
from tests.support.target import Answered, Target, approve
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

Targets = Callable[..., Target]


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as served:
        (tmp_path / "address").write_text(served.server.address)
        yield served
