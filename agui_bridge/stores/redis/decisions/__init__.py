"""What Redis keeps of decisions beside threads: the audit chain, and remembered ones."""
