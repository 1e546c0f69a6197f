"""The engine's telemetry on OpenTelemetry's API; a program chooses the SDK and its exporters.

No payload, message, argument, answer or exception's text gets into a span or a metric, and
neither does who asks. Names and ids of clients' making are on spans only. What there is stands
in `otel.semantic_conventions` and docs/observability.md.

Nothing that a provider, processor or propagator raises reaches what is observed (`otel.guard`).
"""

from agui_bridge.otel.telemetry import OpenTelemetry

__all__ = ["OpenTelemetry"]
