"""A client that checks the service's health, in a process of its own.

It opens a new connection for each check, one after the other, until its standard input ends, and
writes two numbers for each answer: milliseconds as they passed, and without those during which the
service or this process was ready to run and the machine ran something else. A request waits for one
of the two at a time, so their times add up.
"""

import os
import select
import socket
import sys
import time
from pathlib import Path
from typing import Final

_EVERY_S: Final = 0.05
_ANSWER_S: Final = 30.0
_REQUEST: Final = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
FAILED: Final = -1.0


def kept_ready_s(process_id: int) -> float:
    """Read the seconds for which the process was ready to run and had no CPU."""
    try:
        text = Path(f"/proc/{process_id}/schedstat").read_text()
    except OSError:
        return 0.0
    return int(text.split()[1]) / 1e9


def fault_of(port: int) -> str:
    """Check the service once; return the fault, empty when it is healthy."""
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_S) as sock:
            sock.sendall(_REQUEST)
            while part := sock.recv(4_096):
                answer += part
    except OSError as error:
        return repr(error)
    return "" if answer.startswith(b"HTTP/1.1 200 ") else repr(answer[:200])


def main(port: int, process_id: int) -> None:
    """Check until standard input ends."""
    own = os.getpid()
    while not select.select([sys.stdin], [], [], _EVERY_S)[0]:
        began = time.monotonic()
        before = kept_ready_s(process_id) + kept_ready_s(own)
        fault = fault_of(port)
        took_s = time.monotonic() - began
        waited_s = kept_ready_s(process_id) + kept_ready_s(own) - before
        net_s = max(took_s - waited_s, 0.0)
        if fault:
            print(f"health: {fault} after {took_s:.1f} s", file=sys.stderr, flush=True)
        print(FAILED if fault else took_s * 1_000, net_s * 1_000, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
