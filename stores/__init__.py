"""Stores of persistent sessions: what clients have not acknowledged yet, in Redis or SQL, behind one port.

The sink writes here, gateways read. A store is a copy of the log's tail that is quick to read by client: what it holds
is a function of `tbmq.msg.persisted` up to its position, and a lost one is rebuilt from there. Never imports a gateway,
the router or a sink; docs/persistence.md is its layout for users.
"""

from stores.errors import StalePositionError, StoreError, StoreUnavailableError, StoreUrlError
from stores.open import open_store
from stores.port import (
    DEFAULT_LIMITS,
    ClientBacklog,
    Limits,
    PartitionBatch,
    Position,
    Store,
    StoreCounts,
    StoredMessage,
    WaitingCounts,
)

__all__ = [
    "DEFAULT_LIMITS",
    "ClientBacklog",
    "Limits",
    "PartitionBatch",
    "Position",
    "StalePositionError",
    "Store",
    "StoreCounts",
    "StoreError",
    "StoreUnavailableError",
    "StoreUrlError",
    "StoredMessage",
    "WaitingCounts",
    "open_store",
]
