# SPDX-License-Identifier: Apache-2.0
"""Users' own studies: Python files that set ``STUDY``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import CcbenchError, InputError

if TYPE_CHECKING:
    from ccbench.studies.study import AnyStudy

__all__ = ["study_in"]


def study_in(path: str | Path) -> AnyStudy:
    """Execute a Python file and return the study that it defines.

    Parameters
    ----------
    path : path
        A file that sets ``STUDY`` to a :class:`~ccbench.studies.Study`,
        :class:`~ccbench.studies.SearchStudy` or :class:`~ccbench.studies.SimulationStudy`. It can
        import modules in its folder, like a script.

    Raises
    ------
    InputError
        If the file does not exist, fails, or does not set ``STUDY``.

    Examples
    --------
    A user's own study in a notebook:

    .. code-block:: python

        studies.run_study(study_in("my_figure.py"), quick=True)
    """
    from ccbench.studies.study import AnyStudy  # noqa: PLC0415 - pandas

    path = Path(path)
    if not path.is_file():
        raise validation.bad("study", str(path), "an existing Python file", "correct the path")
    name = f"ccbench_study_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise validation.bad("study", str(path), "a Python file, named *.py", "rename it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module here
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except CcbenchError as error:
        raise InputError(f"{path}: {error}") from error
    except Exception as error:
        message = f"{path} cannot be executed ({type(error).__name__}: {error}): correct the file"
        raise InputError(" ".join(message.split())) from error
    finally:
        sys.path.remove(str(path.parent.resolve()))
    study = getattr(module, "STUDY", None)
    if not isinstance(study, AnyStudy):
        allowed = "a Study, a SearchStudy or a SimulationStudy"
        step = "write STUDY = Study(info=..., ...)"
        raise validation.bad(f"STUDY of {path}", study, allowed, step)
    return study
