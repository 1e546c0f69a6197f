"""The help of every command, imported from where the table says."""

from click import Context

from agui_bridge.cli import COMMANDS, app

__all__ = ["COMMANDS", "HELP"]

_FOUND = {name: app.get_command(Context(app), name) for name in COMMANDS}
HELP = {name: found.help or "" for name, found in _FOUND.items() if found is not None}
