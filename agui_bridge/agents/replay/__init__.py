"""Durable execution by replay: what a function did before its pause is returned, not done again."""
