# SPDX-License-Identifier: Apache-2.0
"""Web servers: what they send through a bottleneck of ours shows which CCA they run.

:mod:`.target` says whom we mean, :mod:`.site` asks once where that is, :mod:`.download` downloads
through an emulated link, :mod:`.server` does it in every setting and judges, :mod:`.survey` does
that with one server after the other, :mod:`.folder` keeps all of it, and :mod:`.manners` sees to it
that nobody is troubled.
"""
