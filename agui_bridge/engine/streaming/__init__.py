"""What one client is told, how fast it takes it, and the clock that all waiting goes by."""
