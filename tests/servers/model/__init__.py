"""Models behind their providers' wire formats, scripted by a test, over real sockets.

A test says what the model replies (`script`), a server says it (`server`) in the dialect that a
client speaks to it: one module each, a `Dialect` with a path of its own. No model is behind it, so
what a dialect streams is written after its provider's documents, which each module names.
"""
