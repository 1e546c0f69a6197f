"""The contract as a machine: any number of processes, crashes, races, lost acknowledgements.

`conversations` has random pages on the real engine.
"""
