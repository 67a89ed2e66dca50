# SPDX-License-Identifier: Apache-2.0
"""Elasticity of cross traffic, as Nimbus measures it: on rates over time and on runs.

Traffic is elastic if it takes what others leave and gives way where they take more. A sender finds
out by pulsing: it makes its own rate rise and fall at a known frequency, and looks whether the rate
of the others falls and rises with it.

:mod:`ccbench.elasticity.rates` estimates the rate of the others, :mod:`ccbench.elasticity.detector`
tells from its spectrum whether they are elastic, :mod:`ccbench.elasticity.pulse` is the pulse,
:mod:`ccbench.elasticity.roles` is what several such senders do on one link, and
:mod:`ccbench.elasticity.observed` does it all on a :class:`~ccbench.run.run.Run`, with the truth
beside it.

References
----------
P. Goyal et al., "Elasticity Detection: A Building Block for Internet Congestion Control" (SIGCOMM
2022); sections and equations bear its numbers. In P. Goyal's thesis it is chapter 4 and appendix G.
"""
