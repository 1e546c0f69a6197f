"""Who observes a bridge, from the `telemetry` argument."""

from __future__ import annotations

from agui_bridge.engine.observing.telemetry import NO_TELEMETRY, Telemetry
from agui_bridge.errors import ConfigurationError

__all__ = ["TelemetryChoice", "choose_telemetry"]

TelemetryChoice = bool | str | Telemetry
""""auto", True, False, or who observes."""


def choose_telemetry(choice: TelemetryChoice) -> Telemetry:
    """Who observes: OpenTelemetry where its API is installed, nobody, or who was given.

    Raises:
        ConfigurationError: OpenTelemetry is asked for and not installed, or the choice is none.
    """
    if choice is False:
        return NO_TELEMETRY
    if choice is not True and choice != "auto":
        if isinstance(choice, str) or not hasattr(choice, "observe"):
            raise ConfigurationError(
                f"telemetry can't be {choice!r:.100}: it is 'auto', True, False, or an "
                "agui_bridge.otel.OpenTelemetry."
            )
        return choice
    try:
        # Only here: whoever does without it need not wait for its import.
        from agui_bridge.otel import OpenTelemetry
    except ImportError as error:
        if choice is True:
            raise ConfigurationError(
                f"telemetry=True needs OpenTelemetry's API ({error.name or error} is missing). "
                'Install it: pip install "agui-bridge[otel]"'
            ) from error
        return NO_TELEMETRY
    return OpenTelemetry()
