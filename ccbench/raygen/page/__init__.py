# SPDX-License-Identifier: Apache-2.0
"""Parts of a report's page: figures, tables and texts, which ``report.html`` combines."""
