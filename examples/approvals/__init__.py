"""Two people decide together: who asks may not approve, and deletions need two."""
