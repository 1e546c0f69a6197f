"""Any agent, whatever its framework, behind one AG-UI endpoint.

Pauses, answers and stops are durable, checked and executed once.
"""

__version__ = "0.1.0"

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
from agui_bridge.agents.function.approval_outcome import Approval
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.agents.keyword.phrases import Replies
from agui_bridge.agents.replay.failures import StepFailed
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import BridgeError, NotDelivered, OutcomeUnknown, Refused, UpstreamError
from agui_bridge.http.auth import BearerTokens
from agui_bridge.policy import CallDenied, ProposedCall, Verdict
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
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Escalation, Remember
from agui_bridge.protocol.threads.records import Principal, ToolCall
from agui_bridge.protocol.threads.run_ends import EndReason, StopResult
from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate

__all__ = [
    "Adapter",
    "AdapterCapabilities",
    "Answer",
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
    "Decision",
    "Decline",
    "EndReason",
    "Escalation",
    "Execute",
    "FormField",
    "FunctionAdapter",
    "FunctionRun",
    "Handoff",
    "HandoffResults",
    "KeywordAdapter",
    "NotDelivered",
    "OutcomeUnknown",
    "Pause",
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
    "UpstreamError",
    "Verdict",
    "__version__",
]
