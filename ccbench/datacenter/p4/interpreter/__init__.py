# SPDX-License-Identifier: Apache-2.0
"""A small interpreter of BMv2's JSON: parser, match-action, registers, clone, recirculate.

It executes a program compiled for v1model as BMv2's ``simple_switch`` does, except that the caller
is the traffic manager: :meth:`Machine.ingress` returns waiting packets, and the caller passes one
to :meth:`Machine.egress` when it may leave. Nothing happens spontaneously, so that executions can
be repeated and inspected.

Where P4 leaves a value undefined, such as a field of an invalid header, the value differs from
packet to packet, so that a program that depends on it fails its tests.

The interpreter supports what ccbench's programs need: no header stacks, unions or variable lengths,
no meters or counters, no checksums, no multicast. Unsupported features are errors, never ignored.

:mod:`.machine` is a switch with ingress, packet clones and egress. :mod:`.state` represents a
packet; :mod:`.parser` converts between bytes and that state, :mod:`.match_action` applies tables,
:mod:`.primitives` implements the steps of actions, :mod:`.expressions` evaluates expressions.
"""

from ccbench.datacenter.p4.interpreter.machine import DROP_PORT, Machine, Sent, Waiting

__all__ = ["DROP_PORT", "Machine", "Sent", "Waiting"]
