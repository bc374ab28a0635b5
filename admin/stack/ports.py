"""Loopback ports: find free ones, and check that given ones are free before anything is started."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket

from admin.errors import UsageError

LOOPBACK = "127.0.0.1"


# Below what systems take for the near end of a connection that they open: those come and go by themselves, thousands
# at a time, and one of them could have the port before the server that it was found for.
_POOL = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Return so many different free TCP ports of the loopback address."""
    held: list[socket.socket] = []
    try:
        for port in random.sample(_POOL, len(_POOL)):  # so that two seldom meet; no secret  # nosec B311
            with contextlib.suppress(OSError):
                held.append(socket.create_server((LOOPBACK, port)))
            if len(held) == count:
                break
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def require_free(host: str, port: int) -> None:
    """Check that a server could listen on the port now.

    Raises:
        UsageError: It could not: the port is in use, or not ours to use.
    """
    try:
        # SO_REUSEADDR, which create_server sets, ignores what a stopped server left behind in TIME_WAIT.
        socket.create_server((host, port)).close()
    except OverflowError as error:
        raise UsageError(f"{port} is not a port: give a number from 1 to 65535.") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"Port {port} on {host} is in use: stop what listens there, or give another port."
            ) from error
        # socket words its own errors with the address in them; the plain reason reads better.
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(f"Cannot listen on {host}:{port} ({reason}): give another port.") from error
