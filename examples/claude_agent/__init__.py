"""Claude Code behind the bridge: what it wants to run is approved, also after a restart."""
