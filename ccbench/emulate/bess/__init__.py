# SPDX-License-Identifier: Apache-2.0
"""The engine ``bess``: real time, and a link that is a real software switch.

:mod:`.engine` runs scenarios, :mod:`.command` any program; the first process of a run's namespaces
(:mod:`.world`, :mod:`.session`) wires two hosts to a switch (:mod:`.wires`, :mod:`.uplink`). The
switch (:mod:`.switch`) is a bessd (:mod:`.client`) that is asked for a path (:mod:`.pipeline`) and
tried first (:mod:`.probe`). What it has captured (:mod:`.pcap`) and counted (:mod:`.account`)
becomes a Run (:mod:`.records`). What this engine shares with Mahimahi is in
:mod:`ccbench.emulate.realtime`.
"""
