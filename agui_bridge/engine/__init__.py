"""The engine: carries out what `protocol.contract.admit` decides."""
