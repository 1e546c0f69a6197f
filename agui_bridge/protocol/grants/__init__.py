"""Remembered decisions: what somebody approved once, and need not be asked again."""
