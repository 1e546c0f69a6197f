"""Workflows of DBOS behind the bridge."""
