# SPDX-License-Identifier: Apache-2.0
"""Mahimahi: real programs over an emulated path, in real time.

:mod:`.engine` runs scenarios, :mod:`.command` any program. The first process of a run's private
namespaces (:mod:`.world`, :mod:`.session`, :mod:`.private`) opens Mahimahi's shells one in another
(:mod:`.shells`, :mod:`.gates`). What mm-link has logged (:mod:`.link_log`) and who has sent
what (:mod:`.sniffer`) become the record of the queue (:mod:`.replay`) and a Run (:mod:`.records`).
What this engine shares with BESS is in :mod:`ccbench.emulate.realtime`.
"""
