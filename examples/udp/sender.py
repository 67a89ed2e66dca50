# SPDX-License-Identifier: Apache-2.0
"""A UDP sender whose congestion control adds a packet per round trip and halves after a loss.

Usage: sender.py ADDRESS PORT
"""

import select
import socket
import struct
import sys
import time

PAYLOAD = bytes(1464)  # with the number below and the headers, 1500 bytes
REORDERING = 3  # packets that may overtake one before it counts as lost
TIMEOUT_S = 1.0


def main(address: str, port: int) -> None:
    """Send until the end, with one line per loss."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.connect((address, port))
    window, following, recovery = 10.0, 0, 0
    underway: dict[int, float] = {}
    while True:
        while len(underway) < int(window):
            sock.send(struct.pack("!Q", following) + PAYLOAD)
            underway[following] = time.monotonic()
            following += 1
        if not select.select([sock], [], [], TIMEOUT_S)[0]:
            print(f"{time.monotonic():.6f} timeout", flush=True)
            underway.clear()
            window, recovery = 1.0, following
            continue
        (number,) = struct.unpack("!Q", sock.recv(8))
        sent_s = underway.pop(number, None)
        if sent_s is not None:
            window += 1 / window
        lost = [other for other in underway if other < number - REORDERING]
        for other in lost:
            del underway[other]
        if lost and lost[-1] >= recovery:
            window, recovery = max(window / 2, 1.0), following
            print(f"{time.monotonic():.6f} loss, window {window:.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
