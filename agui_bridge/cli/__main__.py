"""`python -m agui_bridge.cli`: the same as `python -m agui_bridge`."""

from agui_bridge.cli import main

main()
