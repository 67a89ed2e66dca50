# SPDX-License-Identifier: Apache-2.0
"""Names of the files of programs: the same in the folders of a guest and of a run."""

__all__ = ["FOLDER", "KEPT", "SIDES"]

#: Folder with the folder of each program, such as ``0-sender`` of flow 0; also in
#: ``kernel_modules/init/init.c``.
FOLDER = "programs"

#: Ends of a flow.
SIDES = ("sender", "receiver")

#: Folder of the files that are kept, in the folder of each program.
KEPT = "kept"
