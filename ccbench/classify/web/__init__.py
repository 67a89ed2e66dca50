# SPDX-License-Identifier: Apache-2.0
"""Classification of web servers by the queue of downloads through an emulated bottleneck.

A :class:`~.survey.Survey` measures servers (:mod:`.target`) one by one: :mod:`.site` resolves a
server, :mod:`.download` downloads through an engine's link, :mod:`.server` does so in every setting
and classifies the server, :mod:`.folder` stores the results, and :mod:`.manners` limits the load on
servers.
"""
