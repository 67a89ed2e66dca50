# SPDX-License-Identifier: Apache-2.0
"""Web servers: the queue of their downloads through an emulated bottleneck shows their CCA.

A :class:`~.survey.Survey` of servers (:mod:`.target`) goes from one to the next: :mod:`.site` finds
one, :mod:`.download` downloads through an engine's link, :mod:`.server` does so in every setting
and judges, :mod:`.folder` stores the results, and :mod:`.manners` limits the load on servers.
"""
