"""Faults of what clients and people reach: HTTP, chat, CopilotKit, stdio, commands, files."""

from __future__ import annotations

from typing import Final

from tests.seeded.fault import Fault

__all__ = ["SURFACES"]

SURFACES: Final = (
    Fault(
        id="route-without-credentials",
        broken="An agent's capabilities are told to whoever asks, without credentials.",
        file="agui_bridge/http/agui/threads.py",
        before="    await principal_of(service, request)\n"
        "    return json_response(capabilities_of(",
        after="    return json_response(capabilities_of(",
        tests="tests/http/test_principals.py",
    ),
    Fault(
        id="body-unbounded",
        broken="A body of unknown length may be of any length, as long as its pieces are small.",
        file="agui_bridge/http/request_parts.py",
        before="if len(body) > limit:",
        after="if len(chunk) > limit:",
        tests="tests/http/agui/test_refusals.py",
    ),
    Fault(
        id="chat-refusal-is-200",
        broken="What the chat API refuses is answered with an empty stream and status 200.",
        file="agui_bridge/http/chat/reply.py",
        before="if isinstance(ruling, Reject) and ruling.code != _REPEATED:",
        after="if isinstance(ruling, Reject) and ruling.code == _REPEATED:",
        tests="tests/http/chat/test_refusals.py",
    ),
    Fault(
        id="copilotkit-stops-another-run",
        broken="A stop from CopilotKit's page stops also a run that has begun since.",
        file="agui_bridge/http/copilotkit/api.py",
        before="principal=principal, run_id=run_id",
        after="principal=principal, run_id=None",
        tests="tests/http/copilotkit/test_api.py",
    ),
    Fault(
        id="stdio-users-mixed-up",
        broken="All users of a stdio process share their threads.",
        file="agui_bridge/stdio/json_rpc.py",
        before="return Principal(user, user)",
        after="return Principal(actor=user)",
        tests="tests/stdio/test_stdio.py",
    ),
    Fault(
        id="dry-run-deletes",
        broken="`agui-bridge prune --dry-run` deletes what it was to count.",
        file="agui_bridge/cli/commands/prune.py",
        before="2**31 - 1, dry_run=True)",
        after="2**31 - 1)",
        tests="tests/cli/test_prune.py",
    ),
    Fault(
        id="agent-fault-untold",
        broken="An agent of a configuration file that can't be made is left out without a word.",
        file="agui_bridge/config/load.py",
        before="            faults.append(fault)\n",
        after="            continue\n",
        tests="tests/config/test_faults.py",
    ),
)
