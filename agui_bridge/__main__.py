"""`python -m agui_bridge`: the command line."""

from agui_bridge.cli import main

main()
