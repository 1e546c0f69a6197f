"""The example of Pydantic AI as real processes on one store."""

from __future__ import annotations

from tests.adapters.mail_processes import MailProcesses


class TestProcesses(MailProcesses):
    example = "examples.pydantic_ai"
