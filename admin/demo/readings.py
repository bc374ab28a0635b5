"""The data that the demo replays: a year of hourly temperatures, as the PyPI package vega_datasets ships it.

The package's own loader would import pandas, which takes a second and more memory than a gateway; its CSV files are
read as they are.
"""

from __future__ import annotations

import csv
import heapq
import importlib.util
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from admin.errors import AdminError

_CITIES = {"seattle": "seattle-temps.csv", "san-francisco": "sf-temps.csv"}
TOPICS = tuple(f"weather/{city}/temperature" for city in _CITIES)
"""What the devices publish on, one topic a device."""
AVAILABLE = 17_000
"""So many readings there are at least."""


@dataclass(frozen=True)
class Reading:
    """One measurement, as one device publishes it."""

    topic: str
    """`weather/<city>/temperature`."""
    time: str
    """Local time, `YYYY/MM/DD HH:MM`."""
    payload: bytes
    """A JSON object; its number makes it unlike any other of the topic."""


def first_readings(count: int) -> list[Reading]:
    """The first so many readings of all cities together, in the order of their times.

    Raises:
        AdminError: The package with the data is not installed.
    """
    folder = _data_folder()
    cities = [_read_city(folder / file, topic) for file, topic in zip(_CITIES.values(), TOPICS, strict=True)]
    return list(itertools.islice(heapq.merge(*cities, key=attrgetter("time")), count))


def _read_city(path: Path, topic: str) -> Iterator[Reading]:
    with path.open(newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 1):
            time = row["date"][:16]  # one of the files has seconds, which are always 00
            fields = {"number": number, "time": time, "fahrenheit": float(row["temp"])}
            yield Reading(topic, time, json.dumps(fields, separators=(",", ":")).encode())


def _data_folder() -> Path:
    spec = importlib.util.find_spec("vega_datasets")
    if spec is None or not spec.submodule_search_locations:
        raise AdminError(
            "The demo replays data of the package vega_datasets: run `pip install sluicemq[demo]`."
        )
    return Path(spec.submodule_search_locations[0]) / "_data"
