"""`python -m tests.conformance.serve_reference PORT [FLAW…]`: the reference agent as a process."""

import sys

import uvicorn

from tests.conformance.reference import Reference
from tests.conformance.reference_thread import Store

if __name__ == "__main__":
    port, *flaws = sys.argv[1:]
    app = Reference(Store(), *flaws).app()
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")
