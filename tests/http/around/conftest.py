"""The target's tool takes no time: only what it did is looked at."""

import pytest

pytest.register_assert_rewrite("tests.http.around.home")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.approval_target.TOOL_SECONDS", 0.0)
