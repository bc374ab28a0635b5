"""What a gateway says of itself."""

from __future__ import annotations

from contracts import state_record
from contracts.probe_record import ProbeAnswer
from contracts.state_record import Authentication, GatewayState, RouterSeen
from edge.gateway.counters import Counters
from edge.gateway.router_view import RouterView
from edge.gateway.shares.strategies import Strategies, StrategyName
from edge.gateway.system_topics.node_state import NodeParts, NodeState, seen


def told(state: NodeState, *, is_last: bool = False) -> GatewayState:
    decoded = state_record.decode(*state.record(is_last))
    assert isinstance(decoded, GatewayState)
    return decoded


def test_rates_are_what_has_come_since_the_record_before() -> None:
    counters = Counters(publishes=1_000_000, deliveries=1_000_000)
    state = NodeState(
        NodeParts(
            "gw1", "boot", 5.0, counters, lambda: 7, lambda: 8, lambda: {"tcp": "127.0.0.1:1"}, RouterView(1, 1),
            lambda: Authentication(("jwt",), "environment"), Strategies(by_name={"g": StrategyName.STICKY}),
        )
    )  # fmt: skip
    first = told(state)
    assert first.messages.in_per_s == first.messages.out_per_s == 0
    counters.publishes += 5
    counters.deliveries += 10
    counters.dropped_slow += 5
    second = told(state, is_last=True)
    rates = second.messages
    assert rates.in_per_s > 0
    assert abs(rates.out_per_s - 2 * rates.in_per_s) <= 0.2
    assert rates.dropped_per_s == rates.in_per_s
    assert (first.is_stopped, second.is_stopped) == (False, True)
    assert (second.node, second.boot, second.connections, second.subscriptions) == ("gw1", "boot", 7, 8)
    assert second.counters["publishes"] == 1_000_005
    assert second.authentication.providers == ("jwt",)
    assert second.share_strategies == {"": "round_robin", "g": "sticky"}
    assert second.memory_bytes is None or second.memory_bytes > 1 << 20
    assert second.started_at_ms <= first.at_ms <= second.at_ms


def test_what_probes_have_told() -> None:
    view = RouterView(2, 1)
    assert seen(view) == RouterSeen()
    for sequence in (1, 2):
        view.sent(sequence, 10.0 * sequence)
        for source in (0, 1):
            view.written(source, 100 * sequence)
            view.answered(
                ProbeAnswer(sequence, source, 100 * sequence, 0, 5, 3), 10.0 * sequence + 0.5 * sequence
            )
    shown = seen(view)
    assert (shown.generation, shown.table_version, shown.backlog) == (3, (5,), 0)
    assert shown.routed == (201, 201)
    assert shown.latency_ms is not None
    assert (shown.latency_ms.last, shown.latency_ms.p50, shown.latency_ms.p99) == (1000.0, 500.0, 1000.0)
    view.sent(3, 40.0)
    view.written(0, 350)
    view.written(1, 250)
    assert (seen(view).outstanding_probes, seen(view).backlog) == (1, 200)
    view.answered(ProbeAnswer(3, 0, 350, 0, 5, 3), 41.0)
    assert seen(view).backlog == 50
