"""A process that stood still finds out before it does anything."""

from __future__ import annotations

from edge.gateway.pulse import Pulse


async def test_a_late_look_counts_as_away_once() -> None:
    now, away = [100.0], []
    pulse = Pulse(5.5, lambda: away.append(now[0]), lambda: now[0])
    now[0] = 105.4
    pulse.check()
    assert not away
    now[0] = 105.6
    pulse.check()
    pulse.check()
    assert away == [105.6]
    now[0] = 111.2
    pulse.check()
    assert away == [105.6, 111.2]
    pulse.stop()
