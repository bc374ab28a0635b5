"""The configurations of hooks that are measured are such as the router takes."""

from __future__ import annotations

from pathlib import Path

from bench.benches.hooks import write_hooks
from bench.benches.router import Table
from bench.hook_functions import with_site
from routing.hooks.configuration import read_configuration
from routing.hooks.transformations import load_function


def test_they_can_be_read(tmp_path: Path) -> None:
    found = [read_configuration(file) for file in write_hooks(tmp_path, Table(100))]
    assert [(len(one.transformations), len(one.lookups), len(one.rules)) for one in found] == [
        (1, 0, 0),
        (1, 1, 0),
        (0, 0, 1),
    ]
    [function] = found[1].transformations
    assert load_function(str(function.function), function.place) is with_site
    [lookup] = found[1].lookups
    assert len(Path(str(lookup.path)).read_text().splitlines()) == 50
