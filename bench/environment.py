"""What benches share: options, a place for data, the peers, and one stack that is started when the first wants it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from admin.stack.embedded import Stack
from bench.brokers import OURS, PEERS, Broker, broker_of, is_installed
from bench.load.burst import BurstLoad
from bench.load.latency import LatencyLoad
from bench.load.process import run
from bench.stacks import stack_with_routes

SMALL_TABLE = 1_000
BATCH_SECONDS = 20
"""Length of the shared stack's batches: short, so that a run of minutes sees ten rollovers."""
BURST = 20_000
"""Messages that a persistent client is sent at once."""
_BURSTS, _TRICKLE = 5, 30.0
"""What a new stack gets before anything is measured: bursts to a persistent client, and seconds of 200 messages a
second to a plain one. Until three JVMs have compiled what they run, that takes most of two cores."""


@dataclass
class Environment:
    """Open one for a run; what it has started ends with it."""

    console: Console
    seconds: float = 4.0
    """Length of one measurement of throughput."""
    rounds: int = 3
    """How often each is repeated, ours and peers in turn; the median counts."""
    rollovers: int = 10
    scale: float = 1.0
    """Of the million messages and routes; less than 1 only to try whether a bench works."""
    messages: int = 5_000_000
    """How many messages are replayed, before the scale."""
    millions: Sequence[int] = (1,)
    """Sizes of the subscription table in the bench of routes, before the scale."""
    folder: Path = Path()
    _resources: ExitStack = field(default_factory=ExitStack)
    _stack: Stack | None = None
    _peers: dict[str, Broker | None] = field(default_factory=dict)

    @property
    def million(self) -> int:
        """A million, or what the scale makes of it."""
        return int(1_000_000 * self.scale)

    def tell(self, what: str) -> None:
        """Say what goes on."""
        self.console.print(f"  [dim]{what}[/dim]", highlight=False)

    def stack(self) -> Stack:
        """The shared stack: two gateways, 1,000 routes, batches of `BATCH_SECONDS`."""
        if self._stack is None:
            self.tell(f"starting the stack, {SMALL_TABLE:,} routes, batches of {BATCH_SECONDS} s")
            stack = stack_with_routes(self.folder / "stack", SMALL_TABLE, BATCH_SECONDS)
            self._stack = self._resources.enter_context(stack)
            self._stack.wait_ready("sink")  # It takes the CPU of whatever is measured while it starts.
            self._warm_up(broker_of(self._stack))
        return self._stack

    def _warm_up(self, broker: Broker) -> None:
        self.tell("warming up")
        addresses = (broker.host, broker.ports[0], broker.subscribe_port)
        for _ in range(_BURSTS):
            run(BurstLoad(*addresses, messages=int(BURST * self.scale)), 120)
        run(LatencyLoad(*addresses, _TRICKLE * self.scale), 120)

    def stop_stack(self) -> None:
        """Stop what runs; a bench that counts on an idle machine calls it first."""
        self._resources.close()
        self._stack = None
        self._peers.clear()

    def ours(self) -> Broker:
        """Our broker on the shared stack."""
        return broker_of(self.stack())

    def peers(self) -> dict[str, Broker | None]:
        """All peers by name; None for one that is not installed."""
        if not self._peers:
            for name, running in PEERS.items():
                self._peers[name] = self._resources.enter_context(running(self.folder))
        return self._peers

    def contenders(self) -> dict[str, Broker]:
        """Ours and all peers that are installed."""
        return {OURS: self.ours()} | {name: peer for name, peer in self.peers().items() if peer is not None}

    def beside(self, values: dict[str, float]) -> dict[str, float | None]:
        """Values by broker as a figure wants its peers: without ours, None for those that are not installed.

        One that is, and has no value, was not measured, and is left out.
        """
        return {name: values.get(name) for name in PEERS if name in values or not is_installed(name)}


@contextmanager
def open_environment(
    console: Console,
    seconds: float,
    rounds: int,
    rollovers: int,
    scale: float = 1.0,
    messages: int = 5_000_000,
    millions: Sequence[int] = (1,),
) -> Iterator[Environment]:
    """Make an environment with a temporary folder; at the end everything is stopped and removed."""
    with tempfile.TemporaryDirectory(prefix="sluicemq-bench-", ignore_cleanup_errors=True) as folder:
        environment = Environment(
            console, seconds, rounds, rollovers, scale, messages, millions, Path(folder)
        )
        try:
            yield environment
        finally:
            environment.stop_stack()
