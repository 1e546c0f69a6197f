"""Configuration: a YAML file, the environment and flags become a bridge that can be served.

::

    bridge = bridge_from("bridge.yaml")

What a file may say is in `docs/configuration.md`. Precedence: flags, environment, file, defaults.
"""

from agui_bridge.config.load import (
    LoadedConfig,
    bridge_from,
    configuration_schema,
    load_config,
    load_launch,
)

__all__ = ["LoadedConfig", "bridge_from", "configuration_schema", "load_config", "load_launch"]
