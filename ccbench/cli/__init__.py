# SPDX-License-Identifier: Apache-2.0
"""The command line. Each module is one command: it parses, calls the library and prints."""
