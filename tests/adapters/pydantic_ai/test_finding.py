"""An agent of Pydantic AI is recognised, and an object of no framework is not."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge_pydantic_ai import PydanticAIAdapter
from tests.adapters.finding import Finding
from tests.adapters.pydantic_ai.mailer import Mailer


class TestFinding(Finding):
    adapter = PydanticAIAdapter
    name = "pydantic_ai"
    package = "pydantic_ai"
    function = "deps"

    @pytest.fixture
    def agent(self) -> Any:
        return Mailer().agent


def test_an_object_of_no_framework_is_told_what_it_lacks() -> None:
    with pytest.raises(ConfigurationError, match=r"no Adapter: it lacks run, aclose"):
        Bridge("memory:").add("other", object())
