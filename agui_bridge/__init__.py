"""Any agent, whatever its framework, behind one AG-UI endpoint.

Pauses, answers and stops are durable, checked and executed once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

if TYPE_CHECKING:
    from agui_bridge.adapters import (
        Adapter,
        AdapterCapabilities,
        Ask,
        Handoff,
        HandoffResults,
        Pause,
        Resume,
        Run,
        RunItem,
    )
    from agui_bridge.agents.function.adapter import FunctionAdapter
    from agui_bridge.agents.function.approval import Approval
    from agui_bridge.agents.function.checkpoints import idempotency_key
    from agui_bridge.agents.function.run import FunctionRun
    from agui_bridge.agents.keyword.adapter import KeywordAdapter
    from agui_bridge.agents.keyword.phrases import Replies
    from agui_bridge.agents.replay.journal import (
        FrontendToolError,
        PreviewFailed,
        StepFailed,
    )
    from agui_bridge.bridge.bridge import Bridge
    from agui_bridge.emitting import emit
    from agui_bridge.engine.input.settings import Settings
    from agui_bridge.errors import BridgeError, NotDelivered, OutcomeUnknown, Refused, UpstreamError
    from agui_bridge.frameworks.a2ui.settings import A2UI
    from agui_bridge.frameworks.needs_input import Answered, NeedsInput, answered
    from agui_bridge.frameworks.predicted_state import PredictState
    from agui_bridge.http.auth import BearerTokens
    from agui_bridge.policy import CallDenied, ProposedCall, ToolHints, Verdict
    from agui_bridge.protocol.answers.decisions import (
        Answer,
        Approve,
        Cancel,
        Decision,
        Decline,
        Respond,
    )
    from agui_bridge.protocol.answers.forms import FormField
    from agui_bridge.protocol.answers.from_message import Reply
    from agui_bridge.protocol.previews import CommandPreview, DiffPreview
    from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Escalation, Remember
    from agui_bridge.protocol.threads.records import Principal, ToolCall
    from agui_bridge.protocol.threads.run_ends import EndReason, StopResult
    from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate

__all__ = [
    "A2UI",
    "Adapter",
    "AdapterCapabilities",
    "Answer",
    "Answered",
    "Approval",
    "ApprovalRule",
    "Approve",
    "Ask",
    "AskFirst",
    "BearerTokens",
    "Bridge",
    "BridgeError",
    "CallDenied",
    "Cancel",
    "CommandPreview",
    "Decision",
    "Decline",
    "DiffPreview",
    "EndReason",
    "Escalation",
    "Execute",
    "FormField",
    "FrontendToolError",
    "FunctionAdapter",
    "FunctionRun",
    "Handoff",
    "HandoffResults",
    "KeywordAdapter",
    "NeedsInput",
    "NotDelivered",
    "OutcomeUnknown",
    "Pause",
    "PredictState",
    "PreviewFailed",
    "Principal",
    "ProposedCall",
    "Refuse",
    "Refused",
    "Remember",
    "Replies",
    "Reply",
    "Respond",
    "Resume",
    "Run",
    "RunItem",
    "Settings",
    "StepFailed",
    "StopResult",
    "ToolCall",
    "ToolGate",
    "ToolHints",
    "UpstreamError",
    "Verdict",
    "__version__",
    "answered",
    "emit",
    "idempotency_key",
]

_HOMES: Final = {
    "A2UI": "agui_bridge.frameworks.a2ui.settings",
    "Adapter": "agui_bridge.adapters",
    "AdapterCapabilities": "agui_bridge.adapters",
    "Answer": "agui_bridge.protocol.answers.decisions",
    "Answered": "agui_bridge.frameworks.needs_input",
    "Approval": "agui_bridge.agents.function.approval",
    "ApprovalRule": "agui_bridge.protocol.threads.approval_rule",
    "Approve": "agui_bridge.protocol.answers.decisions",
    "Ask": "agui_bridge.adapters",
    "AskFirst": "agui_bridge.tool_gate",
    "BearerTokens": "agui_bridge.http.auth",
    "Bridge": "agui_bridge.bridge.bridge",
    "BridgeError": "agui_bridge.errors",
    "CallDenied": "agui_bridge.policy",
    "Cancel": "agui_bridge.protocol.answers.decisions",
    "CommandPreview": "agui_bridge.protocol.previews",
    "Decision": "agui_bridge.protocol.answers.decisions",
    "Decline": "agui_bridge.protocol.answers.decisions",
    "DiffPreview": "agui_bridge.protocol.previews",
    "EndReason": "agui_bridge.protocol.threads.run_ends",
    "Escalation": "agui_bridge.protocol.threads.approval_rule",
    "Execute": "agui_bridge.tool_gate",
    "FormField": "agui_bridge.protocol.answers.forms",
    "FunctionAdapter": "agui_bridge.agents.function.adapter",
    "FunctionRun": "agui_bridge.agents.function.run",
    "Handoff": "agui_bridge.adapters",
    "HandoffResults": "agui_bridge.adapters",
    "KeywordAdapter": "agui_bridge.agents.keyword.adapter",
    "NeedsInput": "agui_bridge.frameworks.needs_input",
    "NotDelivered": "agui_bridge.errors",
    "OutcomeUnknown": "agui_bridge.errors",
    "Pause": "agui_bridge.adapters",
    "PredictState": "agui_bridge.frameworks.predicted_state",
    "PreviewFailed": "agui_bridge.agents.replay.journal",
    "Principal": "agui_bridge.protocol.threads.records",
    "ProposedCall": "agui_bridge.policy",
    "Refuse": "agui_bridge.tool_gate",
    "Refused": "agui_bridge.errors",
    "Remember": "agui_bridge.protocol.threads.approval_rule",
    "Replies": "agui_bridge.agents.keyword.phrases",
    "Reply": "agui_bridge.protocol.answers.from_message",
    "Respond": "agui_bridge.protocol.answers.decisions",
    "Resume": "agui_bridge.adapters",
    "Run": "agui_bridge.adapters",
    "RunItem": "agui_bridge.adapters",
    "Settings": "agui_bridge.engine.input.settings",
    "FrontendToolError": "agui_bridge.agents.replay.journal",
    "StepFailed": "agui_bridge.agents.replay.journal",
    "StopResult": "agui_bridge.protocol.threads.run_ends",
    "ToolCall": "agui_bridge.protocol.threads.records",
    "ToolGate": "agui_bridge.tool_gate",
    "ToolHints": "agui_bridge.policy",
    "UpstreamError": "agui_bridge.errors",
    "Verdict": "agui_bridge.policy",
    "answered": "agui_bridge.frameworks.needs_input",
    "idempotency_key": "agui_bridge.agents.function.checkpoints",
    "emit": "agui_bridge.emitting",
}
"""Where each name is made. Its module is imported when somebody asks for it: all together take
half a second, of which a command's help and an adapter need little."""

if not TYPE_CHECKING:  # To checkers the imports above say all; any name would pass otherwise.

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
