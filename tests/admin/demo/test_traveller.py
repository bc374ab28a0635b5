"""The traveller's milestones; its journey is made on a real stack in tests/live."""

from __future__ import annotations

import asyncio

from admin.demo.traveller import Milestones


async def test_milestones() -> None:
    milestones = Milestones()
    waiting = [asyncio.ensure_future(milestones.reached(number)) for number in (10, 20)]
    await asyncio.sleep(0)
    milestones.tell(9)
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)
    milestones.tell(15)
    await waiting[0]
    assert not waiting[1].done()
    milestones.tell(25)
    await waiting[1]
    await milestones.reached(25)
