"""The bridge over standard input and output: JSON lines, for a parent process.

Requests are read while runs stream, so that a stop arrives. The end of the input, SIGTERM and
SIGINT stop what runs gracefully; everything is stored before the process ends. Whoever started
the process is trusted: there are no credentials.

Source: NexAU's RFC-0001, "Phase 4"; docs/stopping.md.
"""
