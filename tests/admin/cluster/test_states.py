"""Who lives, who is silent, and who has stopped."""

from __future__ import annotations

from dataclasses import replace

from admin.cluster.overview import overview
from admin.cluster.states import LIVING, SILENT, STOPPED, StateView
from contracts import state_record
from contracts.session_census import Census
from contracts.state_record import Authentication, RouterSeen, silent_after
from tests.admin.cluster.house import GATEWAY, NOW, ROUTER, Clock, PlayedParts


def lives(view: StateView) -> dict[str, str]:
    return {state.node: seen.life for state, seen in view.gateways()}


def test_silence_is_told_from_when_a_record_came_not_from_its_writers_clock() -> None:
    clock = Clock()
    view = StateView(clock, clock)
    wrong = replace(GATEWAY, at_ms=1)  # a clock that is decades behind
    view.take(*state_record.encode(wrong), is_new=True)
    assert lives(view) == {"gw1": LIVING}
    clock.now += silent_after(GATEWAY) + 0.1
    assert lives(view) == {"gw1": SILENT}
    view.take(*state_record.encode(replace(wrong, is_stopped=True)), is_new=True)
    assert lives(view) == {"gw1": STOPPED}


def test_of_what_was_there_before_its_time_tells() -> None:
    clock = Clock()
    view = StateView(clock, clock)
    view.take(*state_record.encode(replace(GATEWAY, at_ms=round(1000 * NOW) - 60_000)), is_new=False)
    view.take(
        *state_record.encode(replace(GATEWAY, node="gw2", at_ms=round(1000 * NOW) + 60_000)), is_new=False
    )
    assert lives(view) == {"gw1": SILENT, "gw2": LIVING}


def test_what_is_not_of_the_form_is_passed_over_and_a_tombstone_ends_a_part() -> None:
    view = StateView()
    view.take(b"gateway/gw1", b"no JSON", is_new=True)
    assert not view.gateways()
    view.take(*state_record.encode(GATEWAY), is_new=True)
    view.take(*state_record.encode(ROUTER), is_new=True)
    assert view.router() is not None
    view.take(b"gateway/gw1", None, is_new=True)
    view.take(b"router", None, is_new=True)
    assert (view.gateways(), view.router()) == ([], None)


def test_an_overview_sums_up_those_that_live() -> None:
    played = PlayedParts()
    played.states.say(played.other("gw3"))
    played.states.clock.now += 100
    played.states.say(
        GATEWAY, played.other("gw2", connections=5), played.other("gw4", is_stopped=True), ROUTER
    )
    found = overview(played.states.view, Census(9, 2))
    assert (found.messages.in_per_s, found.messages.out_per_s, found.messages.dropped_per_s) == (
        20.0,
        40.0,
        1.0,
    )
    assert (found.sessions.connected, found.sessions.total, found.sessions.applications) == (7, 9, 2)
    assert (found.nodes.living, found.nodes.silent, found.nodes.stopped) == (2, ["gw3"], ["gw4"])
    assert (found.router.state, found.router.generation, found.router.backlog) == ("running", 4, 5)
    assert (found.router.latency_p50_ms, found.router.latency_p99_ms) == (2.0, 3.0)
    assert found.warnings == ["gw3 has been silent for 100 s: look whether it runs, or take it off the list."]


def test_warnings_say_what_is_amiss() -> None:
    played = PlayedParts()
    assert overview(played.states.view, None).warnings == ["No gateway says that it lives."]
    played.states.say(replace(ROUTER, state="failed", last_failure="it broke"))
    assert overview(played.states.view, None).warnings[1] == "The router is failed: it broke."
    played.states.say(replace(ROUTER, quarantine=("tbmq.x",)))
    played.states.clock.now += 60
    played.states.say(
        replace(
            GATEWAY,
            router=RouterSeen(outstanding_probes=11),
            authentication=Authentication(("basic",), "database", "it cannot be"),
        )
    )
    found = overview(played.states.view, None, "Kafka does not answer")
    assert found.router.state == "silent"
    assert found.router.backlog is None
    assert found.warnings == [
        "Kafka does not answer.",
        "The router has been silent for 60 s: look whether it runs.",
        "The router does not answer gw1: messages wait in Kafka.",
        "The router writes nothing to tbmq.x, which are missing.",
        "gw1 keeps its authentication providers: it cannot be.",
    ]
