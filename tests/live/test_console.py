"""The console in a browser beside a whole stack: a client is seen, changed and disconnected, and charts move."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from playwright.sync_api import Browser, expect

from admin.stack.administration import Administration
from admin.stack.embedded import Stack
from bench.browser import PATIENCE_MS
from tests.browser import Visitor
from tests.live.consoles import PASSWORD, USER

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]
expect.set_options(timeout=PATIENCE_MS)

_TRAFFIC = 40
"""Messages between two looks at the chart."""


@pytest.fixture
def ann(browser: Browser, administration: Administration) -> Iterator[Visitor]:
    """The administrator, logged in."""
    visitor = Visitor(browser, administration.url)
    visitor.log_in(USER, PASSWORD)
    yield visitor
    visitor.leave()


class Device:
    """A client: the console's own, in a window of its own."""

    def __init__(self, browser: Browser, administration: Administration, client_id: str) -> None:
        self.visitor = Visitor(browser, administration.url)
        self.visitor.log_in(USER, PASSWORD, "/mqtt-client")
        self.page = self.visitor.page
        self.page.get_by_label("Client ID").fill(client_id)
        self.page.get_by_label("Session kept, in seconds").fill("3600")

    def connect(self) -> None:
        self.visitor.button("Connect").click()
        self.is_told("Connected")

    def is_told(self, state: str) -> None:
        expect(self.page.get_by_role("status").filter(has_text=re.compile(f"^{state}$"))).to_be_visible()

    def subscribe(self, topic_filter: str) -> None:
        self.page.get_by_label("Filter").fill(topic_filter)
        self.visitor.button("Subscribe").click()
        expect(self.visitor.button(f"Unsubscribe: {topic_filter}")).to_be_visible()

    def publish(self, topic: str, payload: str, *, retain: bool = False) -> None:
        self.page.get_by_label("Topic").fill(topic)
        self.page.get_by_label("Payload").fill(payload)
        self.page.get_by_role("checkbox", name="Retain it").set_checked(retain)
        self.visitor.button("Publish").click()
        expect(self.page.locator(".messages .out").filter(has_text=payload)).to_be_visible()

    def gets(self, payload: str) -> None:
        expect(self.page.locator(".messages .in").filter(has_text=payload)).to_be_visible()


@pytest.fixture
def device(
    browser: Browser, administration: Administration, unique: Callable[[str], str]
) -> Iterator[Device]:
    """Not connected yet."""
    device = Device(browser, administration, unique("lamp"))
    yield device
    device.visitor.strangers.clear()  # it speaks to a gateway, and is to
    device.visitor.leave()


def test_a_client(ann: Visitor, device: Device, unique: Callable[[str], str]) -> None:
    """It is seen to connect, subscribed to something more, sent a message, and disconnected."""
    client_id = device.page.get_by_label("Client ID").input_value()
    topic = unique("rooms")
    device.connect()
    device.subscribe(f"{topic}/a")

    ann.go(f"/clients?search={client_id}")
    refresh_until(ann, client_id, "Connected")
    ann.page.get_by_role("link", name=client_id).click()
    ann.wait_ready()
    expect(ann.page.get_by_text("Connected to gw1 from 127.0.0.1")).to_contain_text(
        "kept for 1 hour after it goes"
    )
    expect(ann.row(f"{topic}/a")).to_be_visible()

    ann.button("Subscribe").click()
    ann.dialog().get_by_label("Filter").fill(f"{topic}/b")
    ann.dialog().get_by_role("button", name="Subscribe").click()
    expect(ann.row(f"{topic}/b")).to_contain_text("1")
    device.publish(f"{topic}/b", "by the console's subscription")
    device.gets("by the console's subscription")
    ann.button(f"Change: {topic}/b").click()
    ann.dialog().get_by_label("QoS").click()
    ann.page.get_by_role("option", name="2: exactly once").click()
    ann.dialog().get_by_role("button", name="Save").click()
    expect(ann.row(f"{topic}/b").get_by_role("cell").nth(1)).to_have_text("2")

    ann.button("Disconnect").click()
    ann.dialog().get_by_role("button", name="Disconnect").click()
    expect(ann.dialog()).to_be_hidden()
    device.is_told("Not connected")
    expect(device.page.get_by_role("alert")).to_contain_text("reason 152")
    expect(ann.page.get_by_text("Offline")).to_be_visible()

    ann.go("/publish")
    ann.page.get_by_label("Topic", exact=True).fill(f"{topic}/a")
    ann.page.get_by_label("Payload").fill("while it was away")
    ann.button("Publish").click()
    expect(ann.page.get_by_text(f"Published on {topic}/a")).to_be_visible()
    ann.go("/route-test")
    ann.page.get_by_label("Topic", exact=True).fill(f"{topic}/a")
    ann.button("Test").click()
    expect(ann.row(client_id)).to_contain_text("Offline")
    device.page.get_by_role("checkbox", name="Clean start").set_checked(False)
    device.connect()
    device.gets("while it was away")
    device.visitor.button("Disconnect").click()
    ann.go(f"/client?id={client_id}")
    ann.button("Clear session").click()
    ann.dialog().get_by_role("button", name="Clear").click()
    expect(ann.page).to_have_url(re.compile("/clients$"))


def refresh_until(ann: Visitor, row: str, text: str) -> None:
    """Refresh a list until a row holds a text; the test's timeout ends this."""
    while True:
        expect(ann.page.locator(".pager").first).to_be_visible()
        if ann.row(row).filter(has_text=text).count():
            return
        ann.button("Refresh").click()
        ann.page.wait_for_timeout(200)


def test_a_retained_message(ann: Visitor, device: Device, unique: Callable[[str], str]) -> None:
    """It is found, read and deleted; a new subscription then gets nothing."""
    topic = unique("status")
    device.connect()
    device.publish(topic, json.dumps({"on": True}), retain=True)
    ann.go(f"/retained?search={topic}")
    refresh_until(ann, topic, topic)
    ann.button(f"Read: {topic}").click()
    expect(ann.dialog()).to_contain_text('"on": true')
    ann.dialog().get_by_role("button", name="Close").click()
    ann.button(f"Delete: {topic}").click()
    ann.dialog().get_by_role("button", name="Delete").click()
    expect(ann.page.get_by_text(f"Nothing holds “{topic}”.")).to_be_visible()
    device.subscribe(topic)
    device.publish(topic, "live")
    device.gets("live")
    expect(device.page.locator(".messages .in")).to_have_count(1)


def test_the_chart_moves(ann: Visitor, stack: Stack, unique: Callable[[str], str]) -> None:
    """Under traffic, figures and lines follow it."""
    page = ann.page
    chart = page.get_by_role("img", name="Chart: Messages per second, over")
    expect(chart.locator("svg path").first).to_be_attached()
    before = chart.inner_html()
    figure = page.locator(".figure").filter(has_text="Messages in").locator("dd")
    client = paho.Client(CallbackAPIVersion.VERSION2, unique("traffic"), protocol=paho.MQTTv5)
    client.connect(stack.mqtt[0].host, stack.mqtt[0].port)
    client.loop_start()
    try:
        for number in itertools.count():  # the test's timeout ends this
            for _ in range(_TRAFFIC):
                client.publish(unique("t"), str(number), qos=1).wait_for_publish(PATIENCE_MS / 1000)
            shown = re.search(r"[\d.,]+", figure.inner_text())
            if shown and float(shown[0].replace(",", "")) > 0 and chart.inner_html() != before:
                return
    finally:
        client.disconnect()
        client.loop_stop()
