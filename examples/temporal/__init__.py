"""A workflow of Temporal that asks before it orders, and the bridge before it."""
