"""Bridges with the mailer, and conversations with it."""

from __future__ import annotations

from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.mails import MailBridges

__all__ = ["BRIDGES", "conversing", "serving", "talking"]

BRIDGES = MailBridges(lambda mailer, **options: LangGraphAdapter(mailer.graph, **options))
serving, talking, conversing = BRIDGES.serving, BRIDGES.talking, BRIDGES.conversing
