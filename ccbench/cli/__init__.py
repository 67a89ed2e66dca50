# SPDX-License-Identifier: Apache-2.0
"""The command line: one module for each command, thin: parse, call the library, print."""
