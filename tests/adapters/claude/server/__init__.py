"""Claude Code as a process of its own."""
