"""AG-UI over HTTP: runs, threads, open questions, stops."""
