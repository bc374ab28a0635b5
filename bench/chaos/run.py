"""One run on a stack: set traffic going, let faults happen, let everything come to rest, and judge."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from admin.demo.client import Client, ConnectionLostError
from admin.stack.embedded import Stack
from bench.chaos.faults import Faults, Struck
from bench.chaos.plan import Options, publisher_plans, subscriber_plans, topics_of
from bench.chaos.roamer import Roamer, Run, Visit
from bench.chaos.traffic import Publisher, Subscriber
from bench.chaos.verdict import Verdict, judge
from edge.mqtt.errors import LocalProtocolError

Tell = Callable[[str], None]
_PING = 20.0
"""Seconds for a ping's answer, when all is quiet."""
_LOOK = 0.1


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    options: Options
    struck: Sequence[Struck]
    restarts_unasked: dict[str, int]
    """Parts that ended though nobody had killed them, as when Kafka went away; not a fault by itself."""
    published: dict[str, int]
    """Topic → messages."""
    verdicts: Sequence[Verdict]
    complaints: Sequence[str]
    """What else is wrong, one sentence each."""
    visits: dict[str, list[Visit]]
    """Client id → its connections."""

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.complaints and not any(verdict.findings for verdict in self.verdicts)


class Chaos:
    """A run's actors."""

    def __init__(self, stack: Stack, options: Options, tell: Tell) -> None:
        def choice(who: str) -> random.Random:
            # One for each, so that what one decides does not depend on when the others do.
            return random.Random(f"{options.seed} {who}")  # noqa: S311 - nothing is secret  # nosec B311

        self._options = options
        self._tell = tell
        self._stack = stack
        self._run = Run(stack.mqtt)
        publishers = publisher_plans(options.publishers)
        topics = topics_of(publishers)
        self._published = dict.fromkeys(topics, 0)
        self._publishers = [
            Publisher(self._run, plan, self._published, options, choice(plan.name)) for plan in publishers
        ]
        self._subscribers = [
            Subscriber(self._run, plan, self._published, topics, choice(plan.name))
            for plan in subscriber_plans()
        ]
        self._faults = Faults(stack, choice("faults"), tell)
        self._tasks: list[asyncio.Task[None]] = []
        self._complaints: list[str] = []

    @property
    def _roamers(self) -> list[Roamer]:
        subscribing = [subscriber.roamer for subscriber in self._subscribers]
        return subscribing + [publisher.roamer for publisher in self._publishers]

    async def run(self) -> Outcome:
        """Do all of it.

        Raises:
            PartError: A part of the stack did not come back.
        """
        await self._faults.all_ready()  # READY does not wait for the sink.
        try:
            self._tasks += [asyncio.create_task(roamer.roam()) for roamer in self._roamers]
            await self._until(self._all_in, "all clients are connected")
            self._run.began_at = time.monotonic()
            self._tasks += [asyncio.create_task(publisher.publish()) for publisher in self._publishers]
            await self._faults.strike_until(self._run.began_at, self._options.seconds)
            await self._come_to_rest()
            await self._look_at_connections()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for roamer in self._roamers:
                for client in (*roamer.ghosts, *([roamer.client] if roamer.client else [])):
                    client.drop()
        return self._outcome()

    async def _come_to_rest(self) -> None:
        """Wait until all is acknowledged and delivered; then everybody moves once more, and one last number comes.

        What would be delivered again comes at the latest when a client comes back, so before the last number.
        """
        self._tell(f"{self._run.now():6.1f} s  no more faults; what is under way arrives")
        for publisher in self._publishers:
            publisher.stop()
        self._run.is_settling.set()
        await self._until(self._all_done, "all is acknowledged and delivered")
        self._tell(f"{self._run.now():6.1f} s  everybody moves once more")
        for roamer in self._roamers:
            roamer.move()
        await self._until(self._all_in, "all clients are connected again")
        for publisher in self._publishers:
            for topic, qos in publisher.plan.topics:
                publisher.publish_next(topic, qos)
        await self._until(self._all_done, "the last messages are delivered")
        await self._until(lambda: not any(r.unfinished for r in self._roamers), "all of QoS 2 is finished")
        for subscriber in self._subscribers:
            subscriber.stretches[-1].is_last = True
        self._tell(f"{self._run.now():6.1f} s  quiet")

    async def _look_at_connections(self) -> None:
        """One live connection for each client id: the present one answers, and all earlier ones have ended."""
        ghosts = [ghost for roamer in self._roamers for ghost in roamer.ghosts]
        await self._until(
            lambda: all(ghost.ended.done() for ghost in ghosts), "connections that were taken over have ended"
        )
        for roamer in self._roamers:
            if roamer.client is None or not await _answers(roamer.client):
                self._complaints.append(f"{roamer.name} is not connected at the end")
            self._complaints += [
                f"{roamer.name} found its session gone at {at:.1f} s" for at in roamer.sessions_lost
            ]
        for publisher in self._publishers:
            name = publisher.plan.name
            if publisher.under_way:
                self._complaints.append(f"{publisher.under_way} messages of {name} were never acknowledged")
            if publisher.refused:
                self._complaints.append(f"{publisher.refused} messages of {name} were refused")

    def _all_in(self) -> bool:
        return all(roamer.is_in.is_set() for roamer in self._roamers)

    def _all_done(self) -> bool:
        return not any(p.under_way for p in self._publishers) and all(
            s.is_complete for s in self._subscribers
        )

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until it holds; when nothing moves any more, it is a complaint."""
        moves, moved_at = self._run.moves, time.monotonic()
        while not holds():
            _raise_what_failed(self._tasks)
            await asyncio.sleep(_LOOK)
            if self._run.moves != moves:
                moves, moved_at = self._run.moves, time.monotonic()
            elif time.monotonic() - moved_at > self._options.patience:
                self._complaints.append(f"in vain it was waited until {what}")
                return

    def _outcome(self) -> Outcome:
        verdicts = [
            judge(subscriber.plan.name, subscriber.wanted, self._published, subscriber.stretches)
            for subscriber in self._subscribers
        ]
        return Outcome(
            self._options,
            self._faults.struck,
            self._faults.restarts_unasked(),
            self._published,
            verdicts,
            self._complaints,
            {roamer.name: roamer.visits for roamer in self._roamers},
        )


async def _answers(client: Client) -> bool:
    try:
        await asyncio.wait_for(client.ping(), _PING)
    except (ConnectionLostError, LocalProtocolError, TimeoutError):
        return False
    return True


def _raise_what_failed(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            task.result()
