"""Configuration files as documents: variables, sections, and faults told by line."""
