# SPDX-License-Identifier: Apache-2.0
"""Packet captures: pcap and pcapng files."""
