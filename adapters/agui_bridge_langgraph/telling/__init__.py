"""What a graph streams and knows, as the thread is told it."""
