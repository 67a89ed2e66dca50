# SPDX-License-Identifier: Apache-2.0
"""Which congestion control algorithm is it? Answers from traces of queue occupancy.

:mod:`ccbench.classify.dtw` measures how unlike two traces are, and finds the nearest of many.
"""
