"""What the engine tells of its work: to an observer, and in log records."""
