"""What stands before a graph's tools, and between them and what begins again."""
