"""What is known of a thread: its records, its messages, and how its last run ended."""
