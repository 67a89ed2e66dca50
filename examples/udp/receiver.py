# SPDX-License-Identifier: Apache-2.0
"""A UDP receiver that answers each packet with its number.

Usage: receiver.py ADDRESS PORT
"""

import socket
import sys


def main(address: str, port: int) -> None:
    """Answer until the end."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((address, port))
    while True:
        packet, peer = sock.recvfrom(2048)
        sock.sendto(packet[:8], peer)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
