# SPDX-License-Identifier: Apache-2.0
"""Names of the files of programs: the same in the folders of a guest and of a run."""

__all__ = ["FOLDER", "SIDES"]

#: Folder with the folder of each program, such as ``0-sender`` of flow 0; also in
#: ``kernel_modules/init/init.c``.
FOLDER = "programs"

#: Ends of a flow.
SIDES = ("sender", "receiver")
