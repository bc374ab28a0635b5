"""Which faults a seed brings."""

from __future__ import annotations

import random
from itertools import islice

from bench.chaos.faults import KILL, STOP, Fault, all_faults, dealt

FAULTS = all_faults(["gw1", "gw2"])


def test_each_part_is_killed_and_stopped() -> None:
    assert Fault("gw2", KILL) in FAULTS
    assert Fault("kafka", STOP) in FAULTS
    assert len(set(FAULTS)) == len(FAULTS) == 2 * 6


def test_none_comes_again_before_all_have_come() -> None:
    dealing = dealt(FAULTS, random.Random(1))
    for _ in range(3):
        assert set(islice(dealing, len(FAULTS))) == set(FAULTS)


def test_a_seed_brings_the_same_faults_again() -> None:
    one, again, other = (list(islice(dealt(FAULTS, random.Random(seed)), 24)) for seed in ("1", "1", "2"))
    assert one == again != other
