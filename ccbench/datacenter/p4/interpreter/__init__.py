# SPDX-License-Identifier: Apache-2.0
"""A small interpreter of BMv2's JSON: parser, match-action, registers, clone, recirculate.

It executes a program compiled for v1model as BMv2's ``simple_switch`` does, with one difference:
the traffic manager is the caller. :meth:`Machine.ingress` returns packets that wait, and
:meth:`Machine.egress` is called when one of them may leave. Nothing happens by itself, so that what
a program does can be repeated and looked at.

Where P4 leaves a value undefined, as that of a field whose header is not valid, a program gets
another value with each packet, so that one that depends on it fails its tests.

It knows what the programs here need: no header stacks, unions or variable lengths, no meters or
counters, no checksums, no multicast. What it does not know is an error, never passed over.

:mod:`.machine` is a switch: ingress, the clones of packets, egress. A packet in it is a
:mod:`.state`; :mod:`.parser` makes one of bytes and bytes of one, :mod:`.match_action` applies
tables to it, :mod:`.primitives` are what actions do, :mod:`.expressions` what they compute with.
"""

from ccbench.datacenter.p4.interpreter.machine import DROP_PORT, Machine, Sent, Waiting

__all__ = ["DROP_PORT", "Machine", "Sent", "Waiting"]
