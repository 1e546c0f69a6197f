"""Settings refuse what makes no sense, and say what does."""

from typing import Any

import pytest

from agui_bridge import Settings
from agui_bridge.errors import ConfigurationError

POSITIVE = """
    lease_seconds flush_interval keep_alive stall_timeout stop_poll
    pipe_events pipe_bytes max_interrupts max_memo_bytes max_body_bytes body_timeout
    max_continuation_bytes max_result_bytes max_thread_bytes
    max_values max_messages max_members max_depth max_id_bytes max_runs_per_scope
""".split()
NOT_NEGATIVE = """
    stop_timeout sweep_interval busy_patience store_retry cancel_grace shutdown_grace expires_in
""".split()


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("value", [0, -1, "5", True, None, float("nan"), float("inf")])
def test_a_number_that_is_not_above_zero_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as error:
        Settings(**{name: value})
    assert name in str(error.value)
    assert repr(value) in str(error.value)
    assert "above 0" in str(error.value)


@pytest.mark.parametrize("name", NOT_NEGATIVE)
@pytest.mark.parametrize("value", [-0.1, "5", False, [], float("nan")])
def test_a_number_below_zero_is_refused_and_zero_is_not(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} .*at least 0"):
        Settings(**{name: value})
    zero: dict[str, Any] = {name: 0}
    assert getattr(Settings(**zero), name) == 0


def test_inputs_may_not_nest_deeper_than_the_code_that_reads_them() -> None:
    assert Settings(max_depth=100).input_limits.max_depth == 100
    with pytest.raises(ConfigurationError, match=r"max_depth .*at most 100"):
        Settings(max_depth=101)


@pytest.mark.parametrize("name", ["pipe_events", "max_interrupts", "max_body_bytes", "max_depth"])
def test_a_count_that_is_not_whole_is_refused(name: str) -> None:
    broken: dict[str, Any] = {name: 1.5}
    with pytest.raises(ConfigurationError, match="whole number"):
        Settings(**broken)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("history", "both"),
        ("history", None),
        ("on_disconnect", "abort"),
        ("skip_unknown_interrupts", "no"),
        ("skip_unknown_interrupts", 1),
    ],
)
def test_an_unknown_choice_is_refused_with_those_there_are(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} .*one of"):
        Settings(**{name: value})


def test_what_makes_sense_is_accepted() -> None:
    Settings()
    Settings(expires_in=None, history="client", on_disconnect="continue", lease_seconds=1)
