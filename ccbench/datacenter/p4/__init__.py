# SPDX-License-Identifier: Apache-2.0
"""The P4 program of BFC: compiled, interpreted, and run on BMv2.

The program itself is in ``p4/``: ``bfc.p4`` for v1model, ``bfc_tofino2.p4`` for Tofino 2.
:mod:`ccbench.datacenter.p4.sources` finds and compiles it, :mod:`ccbench.datacenter.p4.program`
reads what the compiler makes of it, :mod:`ccbench.datacenter.p4.interpreter` executes that, and
:mod:`ccbench.datacenter.p4.form` puts it to the test vectors.
"""
