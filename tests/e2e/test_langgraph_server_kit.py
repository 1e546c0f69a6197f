"""The kit of an adapter's author on an agent of LangChain that `langgraph dev` serves."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_langgraph_server import LangGraphServerAdapter
from tests.support.langgraph_server import LangGraphProcess

pytestmark = pytest.mark.timeout(300)

NOBODY = "http://127.0.0.1:9"


class TestMailer(AdapterSuite):
    # Its calls begin at the server: no policy of the bridge judges them.
    leaves_out = ("policy", "later")

    @pytest.fixture(autouse=True)
    def know_server(self, langgraph: LangGraphProcess) -> None:
        """Have the server that all tests share."""
        self.langgraph = langgraph

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        before = len(self.langgraph.effects)
        yield AdapterScenario(
            adapter=lambda: LangGraphServerAdapter(self.langgraph.url, "mailer"),
            text="think trees",
            approval="send a",
            parallel="both b",
            question="ask colour",
            answer={"answer": "blue"},
            edited={"to": "c", "body": "edited"},
            slow="slow",
            beside="mixed d",
            twice="twice e",
            stages="sendlook f",
            subagent="delegate look h",
            nested="delegate send i",
            acting="slowlytwice g",
            free="ask anything",
            amid="ask colour",
            image="look at this",
            heard=self.langgraph.heard,
            executed=lambda: self.langgraph.effects[before:],
            unreachable=lambda: LangGraphServerAdapter(NOBODY, "mailer"),
            patience=30.0,
        )
