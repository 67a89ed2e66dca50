# SPDX-License-Identifier: Apache-2.0
"""The P4 program of BFC: compiled, interpreted, and run on BMv2.

The program is in ``p4/``: ``bfc.p4`` for v1model, ``bfc_tofino2.p4`` for Tofino 2.
:mod:`ccbench.datacenter.p4.sources` finds and compiles it, :mod:`ccbench.datacenter.p4.program`
reads the compiler's output, :mod:`ccbench.datacenter.p4.interpreter` executes it, and
:mod:`ccbench.datacenter.p4.implementation` runs it through the test vectors.
"""
