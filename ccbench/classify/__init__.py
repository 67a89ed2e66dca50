# SPDX-License-Identifier: Apache-2.0
"""Which congestion control algorithm is it? Answers from traces of queue occupancy.

A record of a queue comes in many forms (:mod:`.recording`; captures of packets: :mod:`.pcap_pair`);
:mod:`.occupancy` makes a trace of it, :mod:`.filters` cleans that. :mod:`.dtw` says how unlike two
traces are, :mod:`.classifier` finds the nearest of a training set (:mod:`.training_set`, made by
:mod:`.training`), :mod:`.threshold` when that is too far, :mod:`.vote` what several settings say
together, and :mod:`.verdict` all of that for one server. Unknown servers are thought over again
when there are many (:mod:`.clusters`, :mod:`.relabel`). :mod:`ccbench.classify.web` asks servers.
"""
