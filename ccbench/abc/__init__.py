# SPDX-License-Identifier: Apache-2.0
"""ABC, the accel-brake congestion control: what its routers compute.

:mod:`ccbench.abc.wifi` estimates the rate of a Wi-Fi link.
"""
