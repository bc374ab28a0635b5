"""Destructive tests: a stack of their own, which every test leaves whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from admin.stack.embedded import Stack, StackOptions, embedded_stack

PARTITIONS = 6


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A whole broker whose parts may be killed and stopped.

    `tbmq.msg.all` has six partitions (P02). Batches are short, so that tests meet their ends, and a table that is new.
    """
    settings = {
        "SLUICEMQ_APPLICATION_CLIENTS": "app.*",
        "SLUICEMQ_APP_REMOVAL_DELAY_SEC": "1",
        "SLUICEMQ_EXCLUSIVE_SUBSCRIPTIONS": "true",
    }
    options = StackOptions(
        tmp_path_factory.mktemp("fragile"), partitions=PARTITIONS, batch_seconds=10, gateway_settings=settings
    )
    with embedded_stack(options) as stack:
        yield stack
