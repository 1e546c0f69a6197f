"""What Claude Code runs before each tool call: hands the call to the adapter's process, and waits.

It is run by its path, without site packages, and imports two modules: it is started for each call.
The command around it blocks the call unless an answer came.
"""

import socket
import sys


def main() -> int:
    """Pass on what stdin says, and print the answer; 0 only if there was one."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as way:
        way.connect(sys.argv[1])
        way.sendall(sys.stdin.buffer.read())
        way.shutdown(socket.SHUT_WR)
        while piece := way.recv(65536):
            answer += piece
    sys.stdout.buffer.write(answer)
    return 0 if answer else 1


if __name__ == "__main__":
    sys.exit(main())
