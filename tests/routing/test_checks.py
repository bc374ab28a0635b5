"""Whether the router routes: asked of the generation in charge, whichever that is by then."""

from __future__ import annotations

from typing import cast

from pyspark.sql.streaming.query import StreamingQuery

from routing.checks import QueryCheck, RoutingCheck
from routing.errors import RouteTableError
from routing.metrics import RouterMetrics
from routing.passage import Passage
from routing.survey import Survey
from tests.docs.metrics_page import page_metrics, scraped_metrics
from tests.telemetry.scraping import served


class PlayedPassage:
    """Answers for some generations."""

    def __init__(self, *live: int, nodes: bool = True) -> None:
        self.live = set(live)
        self.nodes = nodes
        self.asked: list[int] = []

    def has_node(self) -> bool:
        if not self.nodes and not self.live:
            raise RouteTableError("Kafka does not answer")
        return self.nodes

    def is_live(self, generation: int, _seconds: float) -> bool:
        self.asked.append(generation)
        return generation in self.live


def check_of(passage: PlayedPassage, *in_charge: int | None) -> RoutingCheck:
    numbers = iter(in_charge)
    return RoutingCheck(lambda: cast(Passage, passage), lambda: next(numbers))


def test_it_routes_or_not() -> None:
    assert check_of(PlayedPassage(3), 3)() is None
    assert check_of(PlayedPassage(), 3, 3)() is not None
    assert check_of(PlayedPassage(3), None)() is not None, "none has begun"


def test_one_may_take_over_while_it_is_asked() -> None:
    passage = PlayedPassage(4)
    assert check_of(passage, 3, 4)() is None
    assert passage.asked == [3, 4]
    assert check_of(PlayedPassage(), 3, 4)() is not None


def test_without_a_gateway_there_is_nothing_to_prove() -> None:
    assert check_of(PlayedPassage(1, nodes=False), 1)() is None


def test_kafka_does_not_answer() -> None:
    failure = check_of(PlayedPassage(nodes=False), 1)()
    assert failure is not None
    assert "Kafka" in failure.reason


class PlayedQuery:
    def __init__(self, *, active: bool) -> None:
        self.isActive = active
        self.status = {"isTriggerActive": active}


def test_whether_a_query_runs() -> None:
    assert QueryCheck(lambda: None)() is not None
    assert QueryCheck(lambda: cast(StreamingQuery, PlayedQuery(active=False)))() is not None
    assert QueryCheck(lambda: cast(StreamingQuery, PlayedQuery(active=True)))() is None


def test_what_happens_is_told() -> None:
    metrics = RouterMetrics()
    metrics.began(7)
    metrics.surveyed(Survey(frozenset(), frozenset(), 12, {0: 5, 1: 9}))
    metrics.rolled_over(1.5)
    metrics.rolled_over(None)
    metrics.proved(0.02)
    with served(metrics.registry, {}) as scrape:
        text = scrape.metrics()
    assert "sluicemq_router_generation 7.0" in text
    assert 'sluicemq_router_rollovers_total{outcome="done"} 1.0' in text
    assert 'sluicemq_router_rollovers_total{outcome="deferred"} 1.0' in text
    assert 'sluicemq_router_table_version{partition="1"} 9.0' in text
    assert "sluicemq_router_table_routes 12.0" in text
    found = scraped_metrics(text, "router")
    assert found.items() <= page_metrics("router").items()
