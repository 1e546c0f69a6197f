"""Response schemas: which may be used, and whether an answer fits, within bounded work."""
