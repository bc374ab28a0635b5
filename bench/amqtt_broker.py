"""amqtt as a process: `python -m bench.amqtt_broker PORT`. In-memory, anonymous, nothing else switched on."""

from __future__ import annotations

import asyncio
import logging
import sys

from amqtt.broker import Broker


async def serve(port: int) -> None:
    """Serve until killed."""
    broker = Broker(
        {
            "listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}", "max_connections": 20_000}},
            "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
        }
    )
    await broker.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    logging.basicConfig(level=logging.CRITICAL)
    logging.disable(
        logging.CRITICAL
    )  # Each connection's comings and goings are logged as warnings otherwise.
    asyncio.run(serve(int(sys.argv[1])))
