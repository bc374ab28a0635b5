"""Who takes part in a run."""

from __future__ import annotations

import re

from bench.chaos.plan import GATEWAY_SETTINGS, V4, V5, publisher_plans, subscriber_plans, topics_of


def test_everything_is_wanted_by_persistent_and_by_clean_sessions_at_both_qos() -> None:
    topics = topics_of(publisher_plans(20))
    for is_persistent in (True, False):
        wanted = {
            (topic, qos)
            for plan in subscriber_plans()
            if plan.is_persistent is is_persistent
            for topic, qos in plan.wanted(topics).items()
        }
        assert {topic for topic, _ in wanted} == set(topics)
        assert {qos for _, qos in wanted} == {1, 2}


def test_what_comes_has_the_lower_qos() -> None:
    topics = topics_of(publisher_plans(20))
    wanted = {plan.name: plan.wanted(topics) for plan in subscriber_plans()}
    assert set(wanted["device-all"].values()) == {1}
    assert wanted["device-exact"] == {"chaos/0/0/q2": 2}


def test_applications_are_those_that_the_gateways_take_for_such() -> None:
    is_application = re.compile(GATEWAY_SETTINGS["SLUICEMQ_APPLICATION_CLIENTS"]).fullmatch
    applications = [plan for plan in subscriber_plans() if is_application(plan.name)]
    assert {plan.version for plan in applications} == {V4, V5}
    assert {plan.qos for plan in applications} == {1, 2}
    assert all(plan.is_persistent for plan in applications)
    assert not any(is_application(plan.name) for plan in publisher_plans(20))


def test_names_are_nobody_elses() -> None:
    names = [plan.name for plan in publisher_plans(20)] + [plan.name for plan in subscriber_plans()]
    assert len(set(names)) == len(names)
