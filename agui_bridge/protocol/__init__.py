"""The pure core: no loops, IO, clocks or randomness; it reads like docs/contract.md."""
