"""Every number of the engine that somebody may want to change, with its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DisconnectPolicy", "Settings"]

DisconnectPolicy = Literal["stop", "continue"]
"""What a run does when its client goes away: end gracefully, or go on without it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds.

    Attributes:
        lease_seconds: a run whose process is silent this long counts as lost. Its owner renews
            three times as often, and stops by itself a tenth before the end.
        flush_interval: finished messages reach the store this much later at most.
        keep_alive: a silent stream gets an SSE comment this often.
        stall_timeout: a client that takes nothing for this long counts as disconnected.
        stop_timeout: how long a graceful stop waits for a running tool.
        sweep_interval: pause between two looks for lost runs and expired batches; 0 is never.
        stop_poll: pause between two looks for stop requests that other processes took.
        busy_patience: how long a new message on a busy thread waits before it is refused: the
            client may have aborted that run, and be heard before its disconnect is.
        store_retry: for how long a failed write is tried again before STORE_UNAVAILABLE.
        cancel_grace: how long a cancelled agent may take to end before it is left behind.
        shutdown_grace: how long running runs may go on when the server shuts down.
        expires_in: default time to answer an interrupt; None is for ever.
        pipe_events: encoded chunks that wait for a client at most.
        pipe_bytes: bytes that wait for a client at most (one chunk may exceed it).
        max_interrupts: questions of one pause at most.
        max_body_bytes: a larger request body is refused.
        on_disconnect: policy of the plain AG-UI endpoint, whose clients abort by closing the
            connection.
        skip_unknown_interrupts: ignore resume entries that the thread never raised, as the
            1.0 specification suggests, instead of refusing them.
        history: `server`: the stored messages are the context. `client`: the client's list is,
            but tool calls and results that the store knows are the store's.
    """

    lease_seconds: float = 30.0
    flush_interval: float = 0.5
    keep_alive: float = 15.0
    stall_timeout: float = 30.0
    stop_timeout: float = 30.0
    sweep_interval: float = 5.0
    stop_poll: float = 0.5
    busy_patience: float = 0.25
    store_retry: float = 10.0
    cancel_grace: float = 5.0
    shutdown_grace: float = 10.0
    expires_in: float | None = None
    pipe_events: int = 1024
    pipe_bytes: int = 256 * 1024
    max_interrupts: int = 100
    max_body_bytes: int = 8 * 1024 * 1024
    on_disconnect: DisconnectPolicy = "stop"
    skip_unknown_interrupts: bool = False
    history: Literal["server", "client"] = "server"
