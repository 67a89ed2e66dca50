# SPDX-License-Identifier: Apache-2.0
"""Connection to a dask cluster, and errors of executors."""

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

__all__ = ["WorkersKilled", "cluster", "executor_errors"]

#: Time limit for the scheduler, and then for its first worker, in seconds. Workers that a batch
#: system starts together with this process import Python from a shared file system.
_TIMEOUT_S = 10
_WORKER_TIMEOUT_S = 60


class WorkersKilled(EngineError):
    """All workers of this run were killed, by it or by another run on the same workers."""


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Connect to a dask cluster and yield its executor for :func:`run_many`.

    The workers need the same ccbench as this process, but no shared file system.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://host:8786``.

    Raises
    ------
    InputError
        If `address` is invalid.
    MissingRequirement
        If dask is not installed.
    CcbenchError
        If no scheduler answers, or it has no workers.

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
        client = distributed.Client(address, timeout=_TIMEOUT_S, set_as_default=False)
    except (OSError, distributed.TimeoutError) as error:
        message = f"no dask scheduler answers at {address} ({error}): start one with `dask"
        raise CcbenchError(f"{message} scheduler`") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_WORKER_TIMEOUT_S)
        except distributed.TimeoutError:
            message = f"the dask scheduler at {address} has no workers: start some with `dask"
            raise CcbenchError(f"{message} worker {address} --nworkers auto`") from None
        yield client.get_executor()


@contextmanager
def executor_errors() -> Iterator[None]:
    """Translate the errors of an executor in the block.

    Raises
    ------
    WorkersKilled
        If all workers of this run were killed.
    MissingRequirement
        If a worker or the scheduler lacks a module.
    CcbenchError
        If the executor cannot run anything any more.
    """
    step = "repair it and start again; finished runs are stored"
    try:
        yield
    except BrokenExecutor as error:
        message = f"a worker process was killed, which has ended its pool: {step}"
        raise CcbenchError(message) from error
    except Exception as error:
        if (failure := _workers_killed(error)) is not None:
            raise failure from error
        if isinstance(error, CancelledError) or type(error).__module__.startswith("distributed."):
            reason = f" ({error})" if str(error) else ""
            message = f"the cluster's scheduler has ended or cannot be reached{reason}: {step}"
            raise CcbenchError(message) from error
        missing = error if isinstance(error, ImportError) else error.__cause__
        if isinstance(missing, ImportError):
            raise MissingRequirement(
                f"a worker or its scheduler lacks a module that this process has ({missing}): "
                "install the same ccbench there"
            ) from error
        raise


def _workers_killed(error: Any) -> WorkersKilled | None:
    """Return the translation of dask's error about killed workers; None for other errors."""
    # If dask has not been imported, the error cannot be its own.
    distributed = sys.modules.get("distributed")
    if distributed is None or not isinstance(error, distributed.KilledWorker):
        return None
    count, address = error.allowed_failures + 1, error.last_worker.address
    return WorkersKilled(
        f"the worker that had this run was killed ({count} in turn, the last one at {address}): "
        "its log may say why (too little memory?)"
    )
