"""The basic provider (`identity.basic`) in the chain: its checks block, so they are done in threads of their own.

As many threads as there are, so many passwords are checked at a time; the others wait, and one whose client has gone
away is not checked any more. When too many wait, clients are told to come back later: who floods a gateway with wrong
passwords costs it no more than that.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from identity.answers import Answer, Failure
from identity.attempt import ConnectAttempt
from identity.basic import BasicProvider
from identity.errors import DatabaseUnavailableError

_MAX_WAITING = 1000  # at 25 ms each and four threads six seconds: about as long as a client waits


class BasicInThreads:
    """Asks a basic provider without blocking the event loop."""

    name = "basic"

    def __init__(self, provider: BasicProvider, *, threads: int, max_waiting: int = _MAX_WAITING) -> None:
        """`threads`: passwords checked at a time. `max_waiting`: clients that wait at most, those checked included."""
        self._provider = provider
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="basic")
        self._max_waiting = max_waiting
        self._waiting = 0

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        """What the database has on the client id, user name and password."""
        if self._waiting >= self._max_waiting:
            return Failure(f"{self._waiting} other passwords wait for their check", is_temporary=True)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads,
                self._provider.authenticate,
                "" if attempt.is_id_assigned else attempt.client_id,
                attempt.username,
                attempt.password,
            )
        except DatabaseUnavailableError as error:
            return Failure(str(error), is_temporary=True)
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End the threads; what waits is not checked any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
