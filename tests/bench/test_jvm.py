"""What a JVM says of its heap, and sizes over time."""

from __future__ import annotations

import os
import threading

from bench.jvm import SizeWatch, live_bytes

SAID = """\
4711:
 def new generation   total 196608K, used 1024K [0x0000000080000000, 0x000000008d550000, 0x00000000aaaa0000)
  eden space 174784K,   0% used [0x0000000080000000, 0x0000000080000000, 0x000000008aab0000)
  from space 21824K,   0% used [0x000000008aab0000, 0x000000008aab0000, 0x000000008c000000)
 tenured generation   total 436928K, used 2048K [0x00000000aaaa0000, 0x00000000c5550000, 0x0000000100000000)
   the space 436928K,  34% used [0x00000000aaaa0000, 0x00000000b3d1c1a8, 0x00000000b3d1c200)
 Metaspace       used 113000K, committed 114000K, reserved 1179648K
  class space    used 14000K, committed 15000K, reserved 1048576K
"""


def test_both_generations_count_and_nothing_else() -> None:
    assert live_bytes(SAID) == 3072 * 1024


def test_what_cannot_be_told_is_left_out() -> None:
    found: list[int | None] = [None, 5, 7]
    seen = threading.Event()

    def look(pid: int) -> int | None:
        assert pid == os.getpid()
        if len(found) == 1:
            seen.set()
        return found.pop(0) if found else None

    with SizeWatch(look, os.getpid(), 0.001) as watch:
        assert seen.wait(60)
    assert watch.sizes == [5, 7]
