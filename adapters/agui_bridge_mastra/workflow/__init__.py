"""Workflows: their streams, and what a run of one waits for."""
