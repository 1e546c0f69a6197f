"""The order of one run's events, and what is supplied to keep it."""
