"""`agui-bridge serve`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import click

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli.banner import base_url, show_banner, store_label
from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import (
    log_options,
    server_flags,
    server_options,
    shared_flags,
    store_option,
    targets_argument,
)
from agui_bridge.cli.target import Target
from agui_bridge.config.models import Launch
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.endpoint import is_loopback
from agui_bridge.logs import LogFormat, configure_logging

logger: Final = logging.getLogger("agui_bridge")


@click.command(cls=Command)
@targets_argument
@server_options
@store_option
@log_options
@debug_option
def serve(
    target: tuple[str, ...],
    host: str | None,
    port: int | None,
    anonymous: bool,
    store: str | None,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """Serve the agents of a bridge.

    TARGET is module:variable of a Bridge that a module in the current folder
    defines, or a configuration file in YAML; or files of kind Agent, and folders
    of them. Flags go before environment variables (AGUI_BRIDGE_PORT …), those
    before the file.

    Examples:
      agui-bridge serve agents:bridge
      agui-bridge serve bridge.yaml --port 9000
      agui-bridge serve approval.yaml agents/
      agui-bridge serve bridge.yaml --log-format json
      AGUI_BRIDGE_STORE=sqlite:////data/a.db agui-bridge serve bridge.yaml

    A server that says nothing of who asks is served to this machine only.
    SIGTERM and Ctrl-C end it gracefully: every stream gets its last event.
    """
    flags = {
        **server_flags(host, port, anonymous),
        **shared_flags(store, log_format, log_level),
    }
    found = Target.of(target, flags)
    listen(found.launch, found.bridge)


def listen(launch: Launch, make: Callable[[], Bridge]) -> None:
    """Serve a bridge until a signal ends it.

    Args:
        launch: where to listen, what to log.
        make: makes the bridge, once there is a log to write to.

    Raises:
        ConfigurationError: others than this machine would be served, and nothing says who asks.
    """
    configure_logging(launch.logging.format, launch.logging.level)
    if launch.logging.format == "text" and launch.logging.level != "debug":
        # The banner says it, and what begins and ends besides is of no use to people.
        logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, logging.root.level))
    bridge = make()
    check_private(bridge, launch)
    # uvicorn takes a while to import, and only this command needs it.
    from agui_bridge.http import server

    server.serve(
        bridge,
        launch.server.host,
        launch.server.port,
        anonymous=launch.server.anonymous,
        on_start=lambda port: _announce(bridge, launch.server.host, port, launch.logging.format),
        log_config=None,
    )


def check_private(bridge: Bridge, launch: Launch) -> None:
    """Refuse what the server would refuse, in the words of the command line.

    Args:
        bridge: the bridge.
        launch: where it would listen.

    Raises:
        ConfigurationError: others than this machine would be served, and nothing says who asks.
    """
    host = launch.server.host
    if bridge.authenticate is None and not launch.server.anonymous and not is_loopback(host):
        raise ConfigurationError(
            f"On {host} others than this machine reach the agents, and nothing says who they are.\n"
            "Add `authentication` to the file (authenticate=… to the Bridge), bind to 127.0.0.1, "
            "or serve everybody with --anonymous."
        )


def _announce(bridge: Bridge, host: str, port: int, format: LogFormat) -> None:
    if format == "text":
        show_banner(bridge, host, port)
        return
    logger.info(
        "agui-bridge listens on %s",
        base_url(host, port),
        extra={"agents": sorted(bridge.agents), "store": store_label(bridge.store)},
    )
