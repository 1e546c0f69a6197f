"""JSON Schemas of what travels, made from the types and tables that the code itself uses."""
