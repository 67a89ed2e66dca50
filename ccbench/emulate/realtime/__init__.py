# SPDX-License-Identifier: Apache-2.0
"""Common part of real-time engines, which run this machine's TCP over an emulated path.

Each run has its own namespaces. The engine's process (:mod:`.engine`, :mod:`.supervisor`) starts
their first process, which sets up the path and exchanges the flows' data over it (:mod:`.world`).
:mod:`.records` converts the records in the run's folder to a Run. A command behind a link runs in a
session (:mod:`.command`, :mod:`.session`).
"""
