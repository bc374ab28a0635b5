"""The gateway as a process: start, run until told to stop, stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal

import uvloop

from edge.gateway.config import GatewayConfig
from edge.gateway.gateway import Gateway
from edge.gateway.listeners.listeners import Listeners
from edge.gateway.metrics.observed import Observed

log = logging.getLogger(__name__)


def run(config: GatewayConfig) -> None:
    """Run a gateway until SIGTERM or SIGINT.

    Raises:
        GatewayError: It can't start; the message says what to change.
        OSError: The address can't be listened on.
    """
    uvloop.run(serve(config))


async def serve(config: GatewayConfig) -> None:
    """Startup, main loop, shutdown."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    observed = Observed(config)
    observed.open()
    gateway = Gateway(config)
    observed.watch(gateway)
    await gateway.start()
    observed.started()
    reload_on_hangup(gateway.listeners)
    # What start-up made lives as long as the process, so collections need not look at it again. Publishes make several
    # objects each and hardly a cycle: at Python's own threshold, collecting took a tenth of the busy loop's time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    await stopping.wait()
    log.info("stopping %s", config.node)
    await gateway.stop()
    observed.close()


def reload_on_hangup(listeners: Listeners) -> None:
    """Have SIGHUP read the listeners' certificates again, where they have any; it would end the process otherwise."""
    if listeners.has_certificates:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, listeners.reload_certificates)
