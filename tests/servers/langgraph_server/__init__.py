"""Graphs for `langgraph dev`, which runs in an environment of its own: see graphs.py."""
