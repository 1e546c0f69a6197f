"""The example of the OpenAI Agents SDK as real processes on one store."""

from __future__ import annotations

from tests.adapters.mail_processes import MailProcesses


class TestProcesses(MailProcesses):
    example = "examples.openai_agents"
    verbs = ("send", "inside")
