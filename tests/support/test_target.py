"""The target's process, when it does not do what a test waits for."""

from pathlib import Path

import pytest

from tests.support.target import Target


def test_a_target_that_lives_on_tells_where_it_stands(tmp_path: Path) -> None:
    with Target(tmp_path) as target:
        with pytest.raises(AssertionError, match="it lives on after") as failure:
            target.wait_for_death(0.1)
        told = str(failure.value)
        assert "server.py" in told and "stopping.py" in told and "uvicorn" in told
        target.end()
