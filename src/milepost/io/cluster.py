"""Joining a Ray cluster, or starting one on this machine for the time of a run."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator
from types import ModuleType

from milepost.errors import InputError, WorkerError

KNOCK_SECONDS = 5.0
OBJECT_STORE_BYTES = 100_000_000
"""For a Ray that we start: what workers answer is small and goes straight to the driver."""


def import_ray() -> ModuleType:
    """Return Ray, or say how to install it.

    Raises
    ------
    InputError
        If it is not there.
    """
    try:
        import ray
    except ImportError as error:
        raise InputError("a cluster needs Ray: pip install milepost[cluster]") from error
    module: ModuleType = ray
    return module


@contextlib.contextmanager
def connected(ray: ModuleType, address: str | None) -> Iterator[None]:
    """Connect to a cluster, and leave it in the end unless we were connected before."""
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", here):
            raise InputError(f"cluster {address}: this process is connected to {here} already")
        yield
        return
    _connect(ray, address)
    try:
        yield
    finally:
        ray.shutdown()


def _connect(ray: ModuleType, address: str | None) -> None:
    quiet = {"logging_level": logging.WARNING, "log_to_driver": False}
    named = os.environ.get("RAY_ADDRESS") if address == "auto" else address
    if named:
        _knock(named)
    if address is not None:
        try:
            ray.init(address=address, **quiet)
            return
        except (ConnectionError, RuntimeError, ValueError) as error:
            # Under auto a ConnectionError says that no Ray runs here; a named one must be there.
            if named or not isinstance(error, ConnectionError):
                raise WorkerError(f"no Ray cluster at {named or address}: {error}") from error
    # The processes of the new cluster inherit it: they shall not report to anybody.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        address="local",
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        _node_ip_address="127.0.0.1",  # one machine needs no door to the network
        **quiet,
    )


def _knock(address: str) -> None:
    """Refuse at once an address where nobody listens: Ray itself tries for minutes."""
    host, colon, port = address.rpartition(":")
    if "://" in address or not (colon and port.isdecimal()):
        return  # a form that only Ray understands
    try:
        socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise WorkerError(f"no Ray cluster at {address}: {error}") from error
