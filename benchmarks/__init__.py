"""The budget of the bridge's speed and memory, measured: `make bench`.

Every contender is served in the same way by a process of its own, and every number is a ratio
of two contenders that took turns within one run, because absolute numbers drift.
"""
