# SPDX-License-Identifier: Apache-2.0
"""Studies of ccbench itself: agreement of engines and effects of noise."""
