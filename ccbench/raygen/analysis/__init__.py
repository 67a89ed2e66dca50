# SPDX-License-Identifier: Apache-2.0
"""Analysis of the experiments of a search: regions of high harm, importance of genes, models."""
