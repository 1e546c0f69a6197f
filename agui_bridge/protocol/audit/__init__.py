"""The audit chain: what happened to questions, each row sealed together with the one before it."""
