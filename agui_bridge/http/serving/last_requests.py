"""The last requests on the connections of a server that ends.

A client's request and the server's close may cross on the way: the client then knows no more than
that its connection broke, and a proxy may not send a POST again. So a server that ends keeps idle
connections for a while, answers what still comes on them with `Connection: close`, after which a
client sends nothing more, and closes them only when nothing has come.
"""

from __future__ import annotations

from typing import Final

from agui_bridge.http.request_heads import BoundedRequests

__all__ = ["LAST_REQUEST_SECONDS", "LastRequests"]

LAST_REQUEST_SECONDS: Final = 2
"""For which an idle connection is kept once its server ends. A proxy on a busy machine was seen to
take 0.12 s from its connection to the request on it."""


class LastRequests(BoundedRequests):
    """Requests within bounds, which are answered to the last one when the server ends."""

    last_request_seconds: float = LAST_REQUEST_SECONDS
    _ending = False

    def shutdown(self) -> None:
        """Close as soon as the client knows of it, or has nothing to say."""
        self._ending = True
        if not self._is_answering():
            self._close_when_idle()
        elif not self.cycle.response_started:
            # A head that is sent already can't say so: then one more may come.
            self._say_last()

    def data_received(self, data: bytes) -> None:
        """Take what came; a connection that is still idle afterwards is closed in time."""
        super().data_received(data)
        if self._ending:
            self._close_when_idle()

    def on_headers_complete(self) -> None:
        """A request that came while the server ends is the last one on its connection."""
        super().on_headers_complete()
        if self._ending and self.cycle is not None:
            self._say_last()

    def on_response_complete(self) -> None:
        """After an answer whose head was sent before the end, one more request may come."""
        super().on_response_complete()
        if self._ending:
            self._close_when_idle()

    def _say_last(self) -> None:
        # A header besides: older uvicorns close without a word where `keep_alive` is false.
        self.cycle.keep_alive = False
        self.cycle.default_headers = [*self.cycle.default_headers, (b"connection", b"close")]

    def _close_when_idle(self) -> None:
        # What has begun to come is bounded by the time that a head has.
        if self._is_answering() or self._in_message or self._beside_body:
            return
        self._unset_keepalive_if_required()
        if not self.transport.is_closing():
            # A loop that stood still reads first what came meanwhile, which ends this timer.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.last_request_seconds, self.timeout_keep_alive_handler
            )
