"""Every page of the console beside a whole stack: it shows what there is; `make screenshots` keeps pictures of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
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
from tests.browser import PATIENCE_MS, Visitor
from tests.live.consoles import PASSWORD, USER

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]
expect.set_options(timeout=PATIENCE_MS)

_ALSO_NARROW = ("/", "/clients", "/mqtt-client")
_ALSO_DARK = ("/", "/clients", "/retained")
_LARGEST = 150_000
"""Bytes of a picture."""


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path | None:
    """Where pictures are kept; None where nobody asked for them."""
    asked: str | None = request.config.getoption("--write-screenshots", None)
    if asked is None:
        return None
    folder = Path(asked)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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


def test_every_page(
    browser: Browser, administration: Administration, lamps: list[str], pictures: Path | None
) -> None:
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
        _keep(visitor, path, pictures)
    cookies = visitor.context.cookies()
    visitor.leave()
    if pictures:
        for dark, wanted in ((False, _ALSO_NARROW), (True, _ALSO_DARK)):
            other = Visitor(browser, administration.url, narrow=not dark, dark=dark)
            other.context.add_cookies(cookies)  # type: ignore[arg-type]  # what it gives it does not take
            for path in wanted:
                other.go(path)
                _keep(other, path, pictures, "-dark" if dark else "-narrow")
            other.leave()


def _keep(visitor: Visitor, path: str, folder: Path | None, kind: str = "") -> None:
    if folder is None:
        return
    name = re.sub(r"\W+", "-", path.partition("?")[0].strip("/")) or "overview"
    file = folder / f"{name}{kind}.png"
    visitor.page.wait_for_load_state("networkidle")
    if path == "/":
        visitor.page.wait_for_timeout(
            20_000
        )  # a picture of charts wants something in them; no test waits for it
    visitor.page.screenshot(path=file, animations="disabled", caret="hide")
    assert file.stat().st_size < _LARGEST, f"{file} is too large to be kept"
