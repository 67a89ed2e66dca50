# SPDX-License-Identifier: Apache-2.0
"""Workers that are not this process: a dask cluster, and what it means when they are lost."""

from __future__ import annotations

import re
import sys
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import CcbenchError, EngineError, MissingRequirement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

__all__ = ["WorkersKilled", "cluster", "losses_explained"]

#: How long to wait for the scheduler, and then for its first worker, in seconds.
_PATIENCE_S = 10


class WorkersKilled(EngineError):
    """All workers that had this run were killed: by it, or by another one that they had."""


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Connect to a dask cluster: an executor for :func:`run_many` that runs things there.

    The workers need the same ccbench as this process, and no file system that they share with it.

    Parameters
    ----------
    address : str
        Of its scheduler: ``tcp://host:8786``.

    Raises
    ------
    InputError
        If `address` is none.
    MissingRequirement
        If dask is not installed.
    CcbenchError
        If no scheduler answers there, or it has no workers.

    Examples
    --------
    >>> with cluster("head-node:8786") as executor:
    ...     runs = dict(run_many(scenarios, executor=executor))
    Traceback (most recent call last):
    ccbench.base.errors.InputError: scheduler is 'head-node:8786'; it must be the address of a dask
    ...
    """
    if not re.fullmatch(r"(tcp|tls|ucx)://\S+:\d+", address):
        allowed = "the address of a dask scheduler"
        raise validation.bad("scheduler", address, allowed, "write for example tcp://host:8786")
    try:
        import distributed  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        message = "a cluster needs dask, which is not installed: pip install 'ccbench[cluster]'"
        raise MissingRequirement(message) from None
    try:
        client = distributed.Client(address, timeout=_PATIENCE_S, set_as_default=False)
    except (OSError, distributed.TimeoutError) as error:
        message = f"no dask scheduler answers at {address} ({error}): start one with `dask"
        raise CcbenchError(f"{message} scheduler`") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE_S)
        except distributed.TimeoutError:
            message = f"the dask scheduler at {address} has no workers: start some with `dask"
            raise CcbenchError(f"{message} worker {address} --nworkers auto`") from None
        yield client.get_executor()


@contextmanager
def losses_explained() -> Iterator[None]:
    """Turn what an executor raises when it has lost workers or runs into errors that say so.

    Raises
    ------
    WorkersKilled
        If all workers that had this run were killed.
    CcbenchError
        If the executor can run nothing any more.
    """
    kept = "start this again when that is mended; what was finished is kept"
    try:
        yield
    except BrokenExecutor as error:
        message = f"a worker process was killed, and the others of its pool were ended: {kept}"
        raise CcbenchError(message) from error
    except Exception as error:
        if (failure := _killing(error)) is not None:
            raise failure from error
        if isinstance(error, CancelledError) or type(error).__module__.startswith("distributed."):
            reason = f" ({error})" if str(error) else ""
            message = f"the cluster's scheduler has ended or cannot be reached{reason}: {kept}"
            raise CcbenchError(message) from error
        missing = error if isinstance(error, ImportError) else error.__cause__
        if isinstance(missing, ImportError):
            raise MissingRequirement(
                f"the cluster does not have what this process has ({missing}): install the same "
                "ccbench where the scheduler and the workers run"
            ) from error
        raise


def _killing(error: Any) -> WorkersKilled | None:
    """Return what it means if dask gives a run up as so many workers that had it were killed."""
    # An error of dask's if it has been imported at all.
    distributed = sys.modules.get("distributed")
    if distributed is None or not isinstance(error, distributed.KilledWorker):
        return None
    count, address = error.allowed_failures + 1, error.last_worker.address
    return WorkersKilled(
        f"the worker that had this run was killed ({count} in turn, the last one at {address}): "
        "its log may say why (too little memory?)"
    )
