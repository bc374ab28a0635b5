"""The store of persistent sessions as the supervisor sees it."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Iterable, Mapping

from sinks.batches import BatchWriter, Work
from sinks.log import EMPTY_IT
from sinks.persisted.folding import FoldTask, fold_partitions
from sinks.persisted.store import StoreSettings, read_positions
from sinks.progress import Progress
from stores import Store

_log = logging.getLogger(__name__)


class PersistedDestination:
    """See the protocol, `sinks.destination.Destination`."""

    remedy = EMPTY_IT

    def __init__(self, settings: StoreSettings) -> None:
        """Open the store.

        Raises:
            StoreUrlError: The URL does not name a store that there is.
            StoreUnavailableError: It does not answer.
        """
        self._settings = settings
        self._store: Store = settings.open()

    def positions(self, partitions: Iterable[int]) -> dict[int, int | None]:
        """See the protocol."""
        return read_positions(self._store, partitions)

    def writer(
        self, positions: Mapping[int, int | None], progress: Progress, stopping: threading.Event
    ) -> BatchWriter:
        """See the protocol."""
        return BatchWriter(
            lambda: self._store.partition_position(0), self._work, dict(positions), progress, stopping
        )

    def tidy(self) -> None:
        """Delete messages past their time to live."""
        _log.info("%d messages were past their time to live", self._store.drop_expired())

    def close(self) -> None:
        """See the protocol."""
        self._store.close()

    def _work(self, known: dict[int, int | None]) -> Work:
        return functools.partial(fold_partitions, task=FoldTask(self._settings, known))
