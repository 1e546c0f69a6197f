"""The bridge as an A2A server: a context is a thread, a task what one message begins in it.

A task is no record of its own. Its id names a thread and a message, and what it is told to be is
read from the thread each time, by every replica alike. So there is no second truth that a crash
could leave behind. A pause is INPUT_REQUIRED. What answers it is an input with `resume`, admitted
like any other: sent twice, at once, or after a restart, it is carried out once.

The official SDK's server keeps tasks in a store of its own and their streams in one process. Beside
the bridge's store that would be two truths, so the wire is our own here: a dozen objects of JSON.

Source: the A2A specification 1.0.
"""
