"""Every page of the console beside a whole stack: it shows what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from playwright.sync_api import Browser, expect

from admin.console.places import PLACES
from admin.stack.administration import Administration
from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from bench.browser import PATIENCE_MS
from tests.browser import Visitor
from tests.live.consoles import PASSWORD, USER

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def lamps(stack: Stack, unique: Callable[[str], str]) -> Iterator[list[str]]:
    """Some clients, which subscribe and publish; their ids."""
    clients = {}
    for number in range(8):
        client_id = unique("lamp")
        clients[client_id] = _lamp(client_id, stack.mqtt[number % len(stack.mqtt)])
    yield list(clients)
    for client in clients.values():
        client.disconnect()
        client.loop_stop()


def _lamp(client_id: str, gateway: MqttAddress) -> paho.Client:
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5)
    kept = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    kept.SessionExpiryInterval = 3600
    client.connect(gateway.host, gateway.port, keepalive=60, properties=kept)
    client.loop_start()
    client.subscribe([(f"lamps/{client_id}/set", 1), ("lamps/all", 1)])
    for number in range(30):
        told = client.publish(
            f"lamps/{client_id}/state", f'{{"on": true, "level": {number}}}', qos=1, retain=True
        )
        told.wait_for_publish(PATIENCE_MS / 1000)
    return client


def test_every_page(browser: Browser, administration: Administration, lamps: list[str]) -> None:
    """None shows a problem, but for what the stack has no setting for."""
    visitor = Visitor(browser, administration.url)
    visitor.log_in(USER, PASSWORD)
    paths = [place.path for _, places in PLACES for place in places]
    paths += [f"/client?id={quote(lamps[0])}", "/node?name=gw1"]
    for path in paths:
        visitor.go(path)
        if path == "/clients":
            expect(visitor.row(lamps[0])).to_be_visible()
        for problem in visitor.page.locator(".notice-bad").all_inner_texts():
            assert "SLUICEMQ_STATISTICS_STORE" in problem, (path, problem)
    visitor.leave()
