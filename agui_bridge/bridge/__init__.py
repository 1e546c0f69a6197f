"""The bridge itself: its agents, its store, its engine, and the app that serves them."""
