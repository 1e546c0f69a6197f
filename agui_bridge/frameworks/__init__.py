"""What adapters share whose frameworks run in this process: one run, its events, its sub-agents."""
