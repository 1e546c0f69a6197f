"""How it is measured: the load, taking turns, and how much of it."""
