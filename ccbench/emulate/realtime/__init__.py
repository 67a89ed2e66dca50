# SPDX-License-Identifier: Apache-2.0
"""What the engines have in common that run in real time: this machine's TCP on an emulated path.

Each run has namespaces of its own. The engine's process (:mod:`.supervisor`) starts the first
process there, which makes the path and then lets the hosts talk over it (:mod:`.world`); what is
left in the run's folder becomes a Run (:mod:`.records`).
"""
