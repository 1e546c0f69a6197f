"""Who is told, by the bridge's `telemetry` argument and by what is installed."""

import sys
from pathlib import Path

import pytest
from opentelemetry import metrics, trace

from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.engine.telemetry import NO_TELEMETRY
from agui_bridge.errors import ConfigurationError
from agui_bridge.otel import OpenTelemetry
from agui_bridge.otel.observed_store import ObservedStore
from agui_bridge.stores.memory import MemoryStore
from tests.otel.backend import Backend


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra was not installed."""
    for name in [name for name in sys.modules if name.startswith("agui_bridge.otel")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)


async def test_where_the_api_is_installed_it_is_told() -> None:
    store = MemoryStore()
    bridge = Bridge(store)

    engine = await bridge.open()
    await bridge.aclose()

    assert isinstance(engine.telemetry, OpenTelemetry)
    assert isinstance(engine.store, ObservedStore)


@pytest.mark.usefixtures("not_installed")
async def test_where_it_is_not_installed_nobody_is_told() -> None:
    bridge = Bridge()

    engine = await bridge.open()
    await bridge.aclose()

    assert engine.telemetry is NO_TELEMETRY


async def test_switched_off_nothing_stands_before_the_store() -> None:
    store = MemoryStore()
    bridge = Bridge(store, telemetry=False)

    engine = await bridge.open()
    await bridge.aclose()

    assert engine.store is store


@pytest.mark.usefixtures("not_installed")
def test_asked_for_and_not_installed_it_names_the_command() -> None:
    with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[otel\]"'):
        Bridge(telemetry=True)


@pytest.mark.parametrize("choice", ["on", "", 1, 0, None, object()])
def test_a_choice_that_is_none_is_refused_at_once(choice: object) -> None:
    with pytest.raises(ConfigurationError, match=r"telemetry(=…\)|) (can't|must) be"):
        Bridge(telemetry=choice)  # type: ignore[arg-type]  # what somebody may write


def test_a_script_without_a_loop_tells_the_same_backend(tmp_path: Path) -> None:
    backend = Backend()
    bridge = Bridge(
        f"sqlite:///{tmp_path / 'a.db'}",
        settings=Settings(shutdown_grace=0.1),
        telemetry=backend.telemetry,
    )

    @bridge.agent("agent")
    async def agent(run: FunctionRun) -> None:
        pass

    assert bridge.stop_sync("agent", "none").status == "error"
    assert ("store.load", "agui.stop agent") in backend.tree


def test_without_an_sdk_nobody_hears_until_one_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each look is one for an SDK, as if a second had passed since the one before.
    monkeypatch.setattr("agui_bridge.otel.telemetry.LOOK_SECONDS", 0.0)
    backend, ours = Backend(), OpenTelemetry()
    assert ours.unheard and not backend.telemetry.unheard
    with monkeypatch.context() as patched:
        patched.setattr(trace, "get_tracer_provider", lambda: backend.tracers)
        assert not ours.unheard
    with monkeypatch.context() as patched:
        patched.setattr(metrics, "get_meter_provider", lambda: backend.meters)
        assert not ours.unheard
    assert ours.unheard


def test_an_sdk_is_not_looked_for_at_each_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    providers = trace.get_tracer_provider

    def look() -> trace.TracerProvider:
        looks.append(1)
        return providers()

    ours = OpenTelemetry()
    monkeypatch.setattr(trace, "get_tracer_provider", look)
    assert all(ours.unheard for _ in range(100))
    assert len(looks) == 1


def test_a_trace_passes_through_where_there_is_no_sdk() -> None:
    ours = OpenTelemetry()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with ours.incoming({"traceparent": parent}):
        assert not ours.unheard
    assert ours.unheard
