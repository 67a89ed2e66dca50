# SPDX-License-Identifier: Apache-2.0
"""Nimbus's measurement of the elasticity of cross traffic.

Traffic is elastic if it uses the capacity that others leave and yields when they take more. A
sender tests this by pulsing: it varies its rate at a known frequency and checks whether the rate of
the cross traffic varies in response.

:mod:`ccbench.elasticity.rates` estimates the rate of the cross traffic,
:mod:`ccbench.elasticity.detector` determines its elasticity from the spectrum,
:mod:`ccbench.elasticity.pulse` defines the pulse, :mod:`ccbench.elasticity.roles` coordinates
several senders on one link, and :mod:`ccbench.elasticity.observed` applies all this to a
:class:`~ccbench.run.run.Run` and compares it with the true cross traffic.

References
----------
P. Goyal et al., "Elasticity Detection: A Building Block for Internet Congestion Control" (SIGCOMM
2022), whose section and equation numbers are used. In P. Goyal's thesis it is chapter 4 and
appendix G.
"""
