"""A framework without a name that its adapter needs is refused, with what to install."""

from __future__ import annotations

import pytest

from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.private_names import PrivateName, expect_names


class Framework:
    _state = 1

    def _step(self, event: str) -> str:
        return event


def test_names_that_are_there_pass() -> None:
    names = [PrivateName(Framework, "_state"), PrivateName(Framework, "_step", ("event",))]
    expect_names("jsonschema", names)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (PrivateName(Framework, "_gone"), "Framework has no _gone"),
        (PrivateName(Framework, "_step", ("event", "run")), "Framework._step takes no run"),
    ],
)
def test_a_name_that_is_gone_or_takes_something_else_is_told(name: PrivateName, fault: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        expect_names("jsonschema", [name])
    text = str(refused.value)
    assert fault in text
    assert "jsonschema " in text
    assert "Install jsonschema>=" in text
