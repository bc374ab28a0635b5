"""What the answers to probes prove, and what they do not."""

from contracts.probe_record import ProbeAnswer
from edge.gateway import router_view
from edge.gateway.router_view import RouterView


def answer(sequence: int, source: int, table: int, version: int, generation: int = 0) -> ProbeAnswer:
    return ProbeAnswer(sequence, source, 0, table, version, generation)


def test_nothing_is_known_before_an_answer() -> None:
    assert RouterView(2, 2).version(0) == 0


def test_a_version_counts_when_all_sources_have_answered() -> None:
    view = RouterView(2, 1)
    view.sent(1, 10.0)
    assert not view.answered(answer(1, 0, 0, 7), 10.5)
    assert view.version(0) == 0
    assert view.answered(answer(1, 1, 0, 5), 12.0)
    assert view.version(0) == 5
    assert view.latency == 2.0
    assert view.outstanding == 0


def test_the_slowest_source_holds_the_version_back() -> None:
    view = RouterView(2, 1)
    for sequence, versions in ((1, (5, 5)), (2, (9, 5)), (3, (9, 9))):
        view.sent(sequence, 0)
        for source, version in enumerate(versions):
            view.answered(answer(sequence, source, 0, version), 1)
        assert view.version(0) == min(versions)


def test_answers_of_an_earlier_life_complete_nothing() -> None:
    view = RouterView(1, 1)
    assert not view.answered(answer(17, 0, 0, 3), 1)
    assert view.completed == 0


def test_an_older_generation_holds_the_version_back_while_it_answers() -> None:
    view = RouterView(1, 1)
    view.sent(1, 0)
    view.answered(answer(1, 0, 0, 5, generation=0), 1)
    view.sent(2, 0)
    view.answered(answer(2, 0, 0, 5, generation=0), 1)
    view.answered(answer(2, 0, 0, 9, generation=1), 1)
    assert view.version(0) == 5
    view.sent(3, 0)
    view.answered(answer(3, 0, 0, 9, generation=1), 1)
    assert view.version(0) == 9


def test_a_router_that_starts_anew_counts_its_generations_anew() -> None:
    view = RouterView(1, 1)
    view.sent(1, 0)
    view.answered(answer(1, 0, 0, 5, generation=7), 1)
    view.sent(2, 0)
    view.answered(answer(2, 0, 0, 9, generation=2), 1)
    assert view.version(0) == 9


def test_a_probe_answered_in_parts_by_two_generations_is_not_complete() -> None:
    view = RouterView(2, 1)
    view.sent(1, 0)
    assert not view.answered(answer(1, 0, 0, 5, generation=1), 1)
    assert not view.answered(answer(1, 1, 0, 9, generation=2), 1)
    assert view.version(0) == 0


def test_a_silent_router_costs_bounded_memory() -> None:
    view = RouterView(1, 1)
    for sequence in range(1_000):
        view.sent(sequence, 0)
    assert view.outstanding == router_view._MOST_OUTSTANDING
