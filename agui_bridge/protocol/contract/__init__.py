"""docs/contract.md as functions: what is admitted, and what each ruling writes."""
