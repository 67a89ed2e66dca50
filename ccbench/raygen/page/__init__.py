# SPDX-License-Identifier: Apache-2.0
"""The parts of a report's page: pictures, tables, words; ``report.html`` puts them together."""
