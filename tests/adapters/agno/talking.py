"""Bridges with the mailer, and conversations with it."""

from __future__ import annotations

from agui_bridge_agno import AgnoAdapter
from tests.adapters.mails import MailBridges

__all__ = ["BRIDGES", "TEAMS", "conversing", "serving", "talking"]

BRIDGES = MailBridges(lambda mailer, **options: AgnoAdapter(mailer.agent, **options))
TEAMS = MailBridges(lambda mailer, **options: AgnoAdapter(mailer.team, **options))
serving, talking, conversing = BRIDGES.serving, BRIDGES.talking, BRIDGES.conversing
