"""Random walks through a small cluster: gateways that die, owners that are replaced, messages that come late.

Checked at every step: no two live connections of one client (I7), each grant's session is what a plain oracle says it
is, no application's topic is removed while the client needs it, and no will is published twice, or for a session that
goes on (I8). Checked at the end: each will was published that had to be.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, field, replace

import pytest

from contracts.application_progress import Progress
from contracts.session_event import (
    APPLICATION,
    CHANGE,
    CLEAR,
    DEVICE,
    DISCONNECT,
    ApplicationProgress,
    ChangeWanted,
    CommandGiven,
    ConnectionEnded,
    ConnectRequested,
    DisconnectWanted,
    Granted,
    SessionAnswer,
    SessionEvent,
    Subscribed,
    Subscription,
    WillBegun,
)
from contracts.session_record import CONNECTED, SessionRecord, decode_key
from contracts.will_record import Will
from edge.gateway.sessions.effects import (
    Answer,
    Disconnect,
    Effect,
    PublishWill,
    RemoveTopic,
    Store,
    StoreRemoval,
)
from edge.gateway.sessions.ownership import Ownership, Process

ID = "id"
STEPS = 500
REMOVAL_DELAY_MS = 5_000


@dataclass
class Oracle:
    """The client's session, told by the grants and ends alone."""

    subscriptions: set[str] | None = None
    """None while there is no session."""
    expiry: int = 0
    ended_at: int | None = None
    connection: str = ""
    client_type: str = ""
    progress: int | None = None
    cleared: str = ""
    """The connection that an administrator has ended, with the session."""

    def granted(self, asked: ConnectRequested, now: int) -> set[str] | None:
        """What the session is to be; None for a new one."""
        overdue = self.ended_at is not None and now >= self.ended_at + self.expiry * 1_000
        is_other = asked.client_type != self.client_type
        found = None if asked.clean_start or overdue or is_other else self.subscriptions
        if found is None:
            self.progress = None
        self.client_type = asked.client_type
        self.subscriptions = set(found or ())
        self.expiry, self.connection, self.ended_at = asked.expiry, asked.connection, None
        return found

    def over(self, expiry: int, at: int) -> None:
        """The connection is over."""
        self.expiry, self.ended_at = expiry, at
        if not expiry or self.connection == self.cleared:
            self.subscriptions = None

    def commanded(self, event: CommandGiven, session: SessionRecord | None) -> None:
        """An administrator's word reaches the owner, which has this session."""
        if session is None:
            return
        if event.action == CLEAR and session.state == CONNECTED:
            self.cleared = session.connection
        elif event.action == CLEAR:
            self.subscriptions = None
        elif event.action == CHANGE and session.state != CONNECTED and self.subscriptions is not None:
            self.subscriptions |= {subscription.filter for subscription in event.subscriptions}


class Wills:
    """What becomes of wills, told by the ends of connections, the grants and the publishes alone."""

    def __init__(self) -> None:
        self.published: Counter[str] = Counter()
        self.wanted: dict[str, bool] = {}
        """Connections that are over and whose will is to be published; whether it may wait for its delay."""
        self.void: set[str] = set()
        """Those whose client came back to its session in time."""

    def over(self, asked: ConnectRequested) -> None:
        """A connection that was let in ends, and not by its client's DISCONNECT."""
        if asked.will is not None:
            self.wanted[asked.connection] = min(asked.will.delay, asked.expiry) > 0

    def publish(self, connection: str) -> None:
        """One reaches the log of publishes."""
        assert connection not in self.void
        self.published[connection] += 1
        assert self.published[connection] == 1

    def granted(self, session_present: bool) -> None:
        """Whoever is let in comes after the wills of all before it, or these are never published."""
        for connection, waits in self.wanted.items():
            if not self.published[connection] and connection not in self.void:
                assert waits
                assert session_present
                self.void.add(connection)


@dataclass
class Gateway:
    """One life of a node."""

    node: str
    boot: str
    asking: dict[str, ConnectRequested] = field(default_factory=dict)
    live: dict[str, ConnectRequested] = field(default_factory=dict)
    lingering: set[str] = field(default_factory=set)
    publishing: dict[str, ConnectionEnded] = field(default_factory=dict)
    """Connections whose will is on its way, and the end that is told then."""
    answers: deque[SessionAnswer] = field(default_factory=deque)
    disconnects: deque[DisconnectWanted] = field(default_factory=deque)


class World:
    """Gateways, the log, and an owner that reads it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = iter(range(1, 1_000_000))
        self.now = 1
        self.log: deque[SessionEvent] = deque()
        self.stored: dict[bytes, object] = {}
        self.owner = Ownership(REMOVAL_DELAY_MS)
        self.gateways = {node: Gateway(node, f"{node}-0") for node in ("gw1", "gw2", "gw3")}
        self.dead: list[Process] = []
        self.oracle = Oracle()
        self.wills = Wills()
        self.grants = 0
        self.removed = 0
        self.asked: dict[str, ConnectRequested] = {}
        self.removals: dict[str, int] = {}

    def step(self) -> None:
        """Something happens."""
        self.now += self.random.choice((0, 0, 100, 3_000))
        gateway = self.random.choice(list(self.gateways.values()))
        choices = [
            self.connect,
            self.leave,
            self.subscribe,
            self.progress,
            self.command,
            self.hear,
            self.hear,
            self.obey,
            self.obey,
            self.settle,
            self.publish,
            self.publish,
        ]
        if self.random.random() < 0.02:
            self.die(gateway)
        elif self.random.random() < 0.02:
            self.give_up(gateway)
        elif self.random.random() < 0.5:
            self.own()
        else:
            self.random.choice(choices)(gateway)
        live = [connection for gateway in self.gateways.values() for connection in gateway.live]
        assert len(live) <= 1, live

    def connect(self, gateway: Gateway) -> None:
        """A client connects; what its gateway has of it already ends first, as edge.gateway.sessions.clients does."""
        for connection in [*gateway.live, *gateway.asking]:
            self.end(gateway, connection)
        if gateway.publishing:
            return  # it waits for their ends
        asked = ConnectRequested(
            gateway.node,
            gateway.boot,
            f"c{next(self.numbers)}",
            self.random.random() < 0.2,
            self.random.choice((0, 5, 5, 0xFFFF_FFFF)),
            5,
            self.random.choice((DEVICE, DEVICE, APPLICATION)),
            self.now,
            will=self.random.choice((None, Will("t", b""), Will("t", b"", (), 3), Will("t", b"", (), 7))),
        )
        gateway.asking[asked.connection] = asked
        self.asked[asked.connection] = asked
        self.log.append(asked)

    def leave(self, gateway: Gateway) -> None:
        for connection in [*gateway.live, *gateway.asking][:1]:
            self.end(gateway, connection, is_taken_over=False, says_goodbye=self.random.random() < 0.3)

    def subscribe(self, gateway: Gateway) -> None:
        for connection, asked in gateway.live.items():
            if asked.expiry:
                filter = f"f{self.random.randrange(4)}"
                self.log.append(Subscribed(gateway.node, connection, (Subscription(filter),)))

    def progress(self, gateway: Gateway) -> None:
        for connection, asked in gateway.live.items():
            if asked.expiry and asked.client_type == APPLICATION:
                self.log.append(ApplicationProgress(connection, Progress(next(self.numbers))))

    def command(self, _gateway: Gateway) -> None:
        """An administrator wants something."""
        if self.random.random() < 0.3:
            action = self.random.choice((DISCONNECT, CLEAR, CHANGE))
            made = (Subscription(f"f{self.random.randrange(4)}"),) if action == CHANGE else ()
            self.log.append(CommandGiven(f"k{next(self.numbers)}", action, made))

    def hear(self, gateway: Gateway) -> None:
        """An answer comes."""
        if gateway.answers:
            answer = gateway.answers.popleft()
            if isinstance(answer, ChangeWanted):
                held = gateway.live.get(answer.connection)
                if held is not None and held.expiry:
                    self.log.append(Subscribed(gateway.node, answer.connection, answer.subscriptions))
                return
            asked = gateway.asking.pop(answer.connection, None)
            if asked is not None and isinstance(answer, Granted):
                gateway.live[answer.connection] = asked

    def obey(self, gateway: Gateway) -> None:
        """A disconnect comes."""
        if not gateway.disconnects:
            return
        connection = gateway.disconnects.popleft().connection
        if connection in gateway.live or connection in gateway.asking:
            self.end(gateway, connection)
        elif connection in gateway.lingering:
            self.settle(gateway, is_due=False)
        elif connection not in gateway.publishing:
            self.log.append(ConnectionEnded(gateway.node, gateway.boot, connection, None, self.now))

    def settle(self, gateway: Gateway, is_due: bool = True) -> None:
        """A will's time has come, or it is left to its owner."""
        for connection in list(gateway.lingering)[:1]:
            gateway.lingering.discard(connection)
            ended = ConnectionEnded(gateway.node, gateway.boot, connection, None, self.now)
            if is_due:
                self.begin(gateway, ended)
            else:
                self.log.append(replace(ended, is_will_left=True))

    def begin(self, gateway: Gateway, ended: ConnectionEnded) -> None:
        """A will is to be published: that is noted first."""
        self.log.append(WillBegun(ended.connection, self.now))
        gateway.publishing[ended.connection] = ended

    def publish(self, gateway: Gateway) -> None:
        """A will reaches the log of publishes, or the end of its connection is told after that."""
        for connection, ended in list(gateway.publishing.items())[:1]:
            if self.wills.published[connection]:
                self.log.append(gateway.publishing.pop(connection))
            elif self.random.random() < 0.1:  # it cannot any more
                del gateway.publishing[connection]
                self.log.append(replace(ended, is_will_left=True))
            else:
                self.wills.publish(connection)

    def give_up(self, gateway: Gateway) -> None:
        """The gateway stood still, though not for so long that it is lost."""
        for connection, asked in list(gateway.live.items()):
            del gateway.live[connection]
            self.wills.over(asked)
            ended = ConnectionEnded(gateway.node, gateway.boot, connection, asked.expiry, self.now)
            self.log.append(replace(ended, is_will_left=asked.will is not None))

    def end(
        self, gateway: Gateway, connection: str, *, is_taken_over: bool = True, says_goodbye: bool = False
    ) -> None:
        """A connection ends, and its will is published, or waits for its delay, or is left to its owner, or void."""
        asked = gateway.live.pop(connection, None)
        gateway.asking.pop(connection, None)
        expiry = None if asked is None else asked.expiry
        ended = ConnectionEnded(gateway.node, gateway.boot, connection, expiry, self.now)
        if asked is None or asked.will is None or says_goodbye:
            self.log.append(ended)
            return
        self.wills.over(asked)
        delay = min(asked.will.delay, asked.expiry)
        if delay and is_taken_over:
            self.log.append(replace(ended, is_will_left=True))
        elif delay:
            gateway.lingering.add(connection)
            self.log.append(replace(ended, will_delay=delay))
        else:
            self.begin(gateway, ended)

    def die(self, gateway: Gateway) -> None:
        """The process is killed, and comes back; later its loss is noticed."""
        for asked in gateway.live.values():
            self.wills.over(asked)
        self.dead.append((gateway.node, gateway.boot))
        self.gateways[gateway.node] = Gateway(gateway.node, f"{gateway.node}-{next(self.numbers)}")

    def own(self) -> None:
        """The owner works, is replaced, expires sessions, or notices a loss."""
        choice = self.random.random()
        if choice < 0.05:
            self.owner = Ownership(REMOVAL_DELAY_MS)
            for key, record in self.stored.items():
                self.owner.restore(*decode_key(key), record)  # type: ignore[arg-type]
            for client_id, due_at_ms in self.removals.items():
                self.owner.removals.put(client_id, due_at_ms)
        elif choice < 0.1:
            self.take(self.owner.expire(self.now))
        elif choice < 0.2 and self.dead:
            self.notice()
        elif self.log:
            self.apply()

    def notice(self) -> None:
        """A gateway is found to be gone, and all that it got into the log is applied before that counts."""
        while self.log:
            self.apply()
        process = self.dead.pop(0)
        session = self.owner.session(ID)
        if session is not None and (session.node, session.boot) == process and session.state == "connected":
            self.oracle.over(session.expiry, self.now)
        self.take(self.owner.lose(process, self.now))

    def settle_down(self) -> None:
        """Time enough for all that is under way."""
        for _ in range(50):
            while self.log:
                self.apply()
            while self.dead:
                self.notice()
            for gateway in self.gateways.values():
                self.hear(gateway)
                self.obey(gateway)
                self.settle(gateway)
                self.publish(gateway)

    def apply(self) -> None:
        event = self.log.popleft()
        self.foresee(event)
        self.take(self.owner.apply(ID, event, self.now))

    def foresee(self, event: SessionEvent) -> None:
        """Tell the oracle."""
        session = self.owner.session(ID)
        if isinstance(event, CommandGiven):
            self.oracle.commanded(event, session)
        elif isinstance(event, Subscribed) and event.connection == self.oracle.connection:
            if self.oracle.subscriptions is not None:
                self.oracle.subscriptions |= {subscription.filter for subscription in event.subscriptions}
        elif isinstance(event, ApplicationProgress) and event.connection == self.oracle.connection:
            if self.oracle.subscriptions is not None:
                self.oracle.progress = event.progress.floor
        elif isinstance(event, ConnectionEnded) and session is not None and session.state == "connected":
            if event.connection == self.oracle.connection:
                self.oracle.over(session.expiry if event.expiry is None else event.expiry, event.at_ms)
        elif isinstance(event, ConnectRequested) and session is not None and session.state == "connected":
            came_back = session.node == event.node and session.boot != event.boot
            if came_back:
                self.oracle.over(session.expiry, self.now)

    def take(self, effects: list[Effect]) -> None:
        """What the owner decided reaches Kafka at once, and gateways later."""
        for effect in effects:
            if isinstance(effect, Store):
                if effect.record is None:
                    self.stored.pop(effect.key, None)
                else:
                    self.stored[effect.key] = effect.record
            elif isinstance(effect, StoreRemoval):
                if effect.due_at_ms is None:
                    del self.removals[effect.client_id]
                else:
                    self.removals[effect.client_id] = effect.due_at_ms
            elif isinstance(effect, RemoveTopic):
                self.removed += 1
                session = self.owner.session(ID)
                assert session is None or not (session.is_persistent and session.client_type == APPLICATION)
            elif isinstance(effect, Disconnect):
                self.gateways[effect.node].disconnects.append(effect.wanted)
            elif isinstance(effect, PublishWill):
                # One that its gateway has published is found, for that was noted first.
                if effect.kept.begun_at_ms is None or not self.wills.published[effect.kept.connection]:
                    self.wills.publish(effect.kept.connection)
            elif isinstance(effect, Answer):
                if isinstance(effect.answer, Granted):
                    self.check(effect.answer)
                self.gateways[effect.node].answers.append(effect.answer)

    def check(self, answer: Granted) -> None:
        self.grants += 1
        expected = self.oracle.granted(self.asked[answer.connection], self.now)
        self.wills.granted(answer.session_present)
        assert (answer.application and answer.application.floor) == self.oracle.progress
        assert answer.session_present == (expected is not None)
        assert {subscription.filter for subscription in answer.subscriptions} == (expected or set())


@pytest.mark.parametrize("seed", range(300))
def test_a_walk(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    # Whatever has happened: who comes last gets in.
    world.leave(world.gateways["gw1"])
    world.settle_down()
    world.connect(world.gateways["gw1"])
    world.settle_down()
    assert [len(gateway.live) for gateway in world.gateways.values()] == [1, 0, 0]
    assert not world.owner.is_waiting
    assert world.grants > 3
    for connection in world.wills.wanted:
        assert world.wills.published[connection] == (connection not in world.wills.void)
