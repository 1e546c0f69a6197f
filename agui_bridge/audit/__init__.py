"""The audit chain for those who read it: exported, verified, and asked what counts."""
