"""SUBSCRIBE waits while entities are looked for, and what the client sends behind it waits its turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping

from edge.gateway.connection import Connection
from edge.mqtt.states import State

Refused = Mapping[str, int]
"""Groups (`$share/<group>/<filter>`) that cannot be subscribed, and the reason code that says why."""
GoOn = Callable[[Refused], None]
Before = Callable[[], Awaitable[Refused]]


class Turns:
    """Each connection's packets that are not worked on yet."""

    def __init__(self, look: Callable[[Collection[str]], Awaitable[Refused]]) -> None:
        """Args: `look` finds those groups that cannot be subscribed."""
        self._look = look
        self._queues: dict[Connection, deque[tuple[Collection[str], GoOn, Before | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(
        self, connection: Connection, groups: Collection[str], go_on: GoOn, before: Before | None = None
    ) -> None:
        """Go on with a packet: at once, if it waits for nothing and none of the client's does; never, if it leaves.

        Args:
            connection: The client's.
            groups: That it names.
            go_on: Takes the packet up again.
            before: Finds what else cannot be subscribed.
        """
        queue = self._queues.get(connection)
        if queue is not None:
            queue.append((groups, go_on, before))
        elif not groups and before is None:
            go_on({})
        else:
            self._queues[connection] = deque([(groups, go_on, before)])
            task = asyncio.get_running_loop().create_task(self._work(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Go on with none."""
        for task in self._tasks:
            task.cancel()

    async def _work(self, connection: Connection) -> None:
        queue = self._queues[connection]
        try:
            while queue:
                groups, go_on, before = queue.popleft()
                refused = await self._look(groups) if groups else {}
                if before is not None and connection.core.state is not State.CLOSED:
                    refused = {**refused, **await before()}
                if connection.core.state is State.CLOSED:
                    return
                go_on(refused)
        finally:
            del self._queues[connection]
