"""The audit chain for those who read it: exported to files, and verified."""
