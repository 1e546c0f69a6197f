"""Bridges with the mailer, and conversations with it."""

from __future__ import annotations

from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.mails import MailBridges

__all__ = ["BRIDGES", "conversing", "serving", "talking"]

BRIDGES = MailBridges(lambda mailer, **options: AgentFrameworkAdapter(mailer.agent, **options))
serving, talking, conversing = BRIDGES.serving, BRIDGES.talking, BRIDGES.conversing
