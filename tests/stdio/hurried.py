"""`agui-bridge` whose last seconds, before threads that never end are left behind, are short."""

from agui_bridge.cli import main
from agui_bridge.stdio import lines

if __name__ == "__main__":
    lines._LAST_SECONDS = 0.2  # type: ignore[misc]  # a constant to everybody else
    main()
