"""The engine: carries out what `protocol.contract.admission.admit` decides."""
