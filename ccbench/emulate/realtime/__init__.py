# SPDX-License-Identifier: Apache-2.0
"""The common part of engines in real time: this machine's TCP on an emulated path.

Each run has namespaces of its own. The engine's process (:mod:`.engine`, :mod:`.supervisor`) starts
the first process there, which makes the path and then lets the hosts talk over it (:mod:`.world`).
The records in the run's folder become a Run (:mod:`.records`). A command behind a link has a
session instead (:mod:`.command`, :mod:`.session`).
"""
