"""The bridge as an agent of the Agent Client Protocol, for editors: a session is a thread.

A prompt is a run. A question of the run is a permission request or an elicitation, and its answer
the resume that any other surface would send: claimed first, executed once. The thread outlives the
process, so a session is loaded by whichever process is started next.

Source: the Agent Client Protocol, version 1; docs/acp.md.
"""
