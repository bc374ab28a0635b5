"""The message store: confirmed messages of QoS 1 and 2 in SQL, each topic's numbered 1, 2, 3 and so on.

The sink in `sinks/messages` writes it, whoever wants to look at what was published reads it: `MessageStore`.
"""

from stores.messages.store import ArrivedMessage, FoundMessage, MessageRange, MessageStore

__all__ = ["ArrivedMessage", "FoundMessage", "MessageRange", "MessageStore"]
