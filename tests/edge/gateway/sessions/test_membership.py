"""Who is lost, from what the group looks like over time; and the group's name."""

from __future__ import annotations

from edge.gateway.sessions.membership import Absences, group_of, member_name

ME, OTHER, AGAIN = ("gw1", "a"), ("gw2", "b"), ("gw2", "c")


def test_who_is_absent_for_the_grace_is_lost() -> None:
    absences = Absences(ME, grace=1.0)
    assert absences.judge({ME, OTHER}, {OTHER}, 0.0) == set()
    assert absences.judge({ME}, {OTHER}, 5.0) == set()
    assert absences.is_anybody_absent
    assert absences.judge({ME}, {OTHER}, 5.9) == set()
    assert absences.judge({ME}, {OTHER}, 6.0) == {OTHER}


def test_who_comes_back_in_time_is_not() -> None:
    absences = Absences(ME, grace=1.0)
    absences.judge({ME}, {OTHER}, 5.0)
    absences.judge({ME, OTHER}, {OTHER}, 5.5)
    assert absences.judge({ME}, {OTHER}, 6.2) == set()


def test_a_node_that_came_back_under_another_boot_has_lost_the_one_before_at_once() -> None:
    assert Absences(ME).judge({ME, AGAIN}, {OTHER, AGAIN}, 0.0) == {OTHER}


def test_a_picture_without_ourselves_is_no_evidence() -> None:
    absences = Absences(ME, grace=1.0)
    absences.judge({ME}, {OTHER}, 0.0)
    assert absences.judge(set(), {OTHER}, 2.0) == set()
    assert absences.judge({ME}, {OTHER}, 2.1) == set()


def test_names() -> None:
    assert group_of("tbmq") == "sluicemq-sessions"
    assert group_of("x") == "sluicemq-sessions-x"
    assert member_name(ME) == "gw1:a"
