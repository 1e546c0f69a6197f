"""Workflows of DBOS behind AG-UI, in this process or with workers of their own.

A workflow tells and asks people with `say`, `ask` and `approve`, one that is `async` with
`say_async`, `ask_async` and `approve_async`.
Needs the extra `dbos`.
"""

from agui_bridge_dbos.adapter import DBOSWorkflow
from agui_bridge_dbos.telling import Reply, approve, approve_async, ask, ask_async, say, say_async

__all__ = [
    "DBOSWorkflow",
    "Reply",
    "approve",
    "approve_async",
    "ask",
    "ask_async",
    "say",
    "say_async",
]
