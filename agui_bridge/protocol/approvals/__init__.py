"""Who may answer a question, and when enough people have."""
