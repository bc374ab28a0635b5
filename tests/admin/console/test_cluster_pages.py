"""The console's pages of clients and cluster in a browser, over a cluster that is played."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from bench.browser import PATIENCE_MS
from identity.roles import Role
from tests.admin.console.conftest import Visit

pytestmark = pytest.mark.timeout(600)
expect.set_options(timeout=PATIENCE_MS)


def test_a_client(visit: Visit) -> None:
    """It is found, explained, subscribed to something else, disconnected and cleared."""
    visitor = visit(Role.OPERATOR, "/clients")
    page = visitor.page
    expect(page.get_by_text("1–50 of 62")).to_be_visible()
    page.get_by_label("Search by client ID").fill("LAMP-07")
    expect(page.get_by_text("1 in all")).to_be_visible()
    page.get_by_role("link", name="lamp-07").click()
    visitor.wait_ready()
    expect(page.get_by_text("Connected to gw2 from 192.0.2.7 for")).to_contain_text(
        "kept for 1 hour after it goes"
    )
    expect(page.get_by_text("12 messages wait for it")).to_be_visible()

    visitor.button("Subscribe").click()
    form = visitor.dialog()
    form.get_by_label("Filter").fill("lamps/#/x")
    form.get_by_role("button", name="Subscribe").click()
    expect(form.get_by_role("alert")).to_be_visible()
    form.get_by_label("Filter").fill("lamps/07/dim")
    form.get_by_role("button", name="Subscribe").click()
    expect(visitor.row("lamps/07/dim").get_by_role("cell").nth(1)).to_have_text("1")
    visitor.button("Change: lamps/07/dim").click()
    form.get_by_label("QoS").click()
    page.get_by_role("option", name="2: exactly once").click()
    form.get_by_role("button", name="Save").click()
    expect(visitor.row("lamps/07/dim").get_by_role("cell").nth(1)).to_have_text("2")
    visitor.button("Remove: lamps/07/dim").click()
    form.get_by_role("button", name="Remove").click()
    expect(visitor.row("lamps/07/dim")).to_be_hidden()

    visitor.button("Disconnect").click()
    expect(form).to_contain_text("Its session stays")
    form.get_by_role("button", name="Disconnect").click()
    expect(page.locator(".chip").filter(has_text="Offline")).to_be_visible()
    expect(visitor.button("Disconnect")).to_be_hidden()
    visitor.button("Clear session").click()
    form.get_by_role("button", name="Clear").click()
    expect(page).to_have_url(re.compile("/clients$"))
    page.get_by_label("Search by client ID").fill("lamp-07")
    expect(page.get_by_text("Nothing holds “lamp-07”.")).to_be_visible()


def test_sorting_and_choosing(visit: Visit) -> None:
    visitor = visit(Role.VIEWER, "/clients")
    page = visitor.page
    first = page.get_by_role("row").nth(1)
    page.get_by_role("button", name="Client ID").click()
    expect(first).to_contain_text("away")
    page.get_by_role("button", name="Client ID").click()
    expect(first).to_contain_text("lamp-59")
    expect(page.get_by_role("columnheader", name="Client ID")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("combobox", name="Type").click()
    page.get_by_role("option", name="Application").click()
    expect(page.get_by_text("1 in all")).to_be_visible()
    expect(first).to_contain_text("billing")


def test_retained_messages(visit: Visit) -> None:
    """One is read, and deleted; another is published."""
    visitor = visit(Role.OPERATOR, "/retained")
    page = visitor.page
    visitor.button("Read: lamps/1/state").click()
    expect(visitor.dialog()).to_contain_text('"level": 1')
    visitor.dialog().get_by_role("button", name="Close").click()
    visitor.button("Delete: lamps/1/state").click()
    expect(visitor.dialog()).to_contain_text("New subscriptions are sent nothing")
    visitor.dialog().get_by_role("button", name="Delete").click()
    expect(visitor.row("lamps/1/state")).to_be_hidden()

    visitor.go("/publish?retain=1")
    page.get_by_label("Topic", exact=True).fill("lamps/9/state")
    page.get_by_label("Payload").fill("off")
    visitor.button("Publish").click()
    expect(page.get_by_text("Published on lamps/9/state")).to_be_visible()
    visitor.go("/retained")
    expect(visitor.row("lamps/9/state")).to_contain_text("3 B")


def test_who_would_get_it(visit: Visit) -> None:
    visitor = visit(Role.VIEWER, "/route-test?topic=lamps/00/set")
    visitor.button("Test").click()
    expect(visitor.page.get_by_text("1 client would receive it.")).to_be_visible()
    expect(visitor.row("lamp-00")).to_contain_text("Connected")
    visitor.page.get_by_label("Topic").fill("jobs/1")
    visitor.button("Test").click()
    expect(visitor.page.get_by_text("1 share group would receive it.")).to_be_visible()
    visitor.page.get_by_label("Topic").fill("jobs/#")
    visitor.button("Test").click()
    expect(visitor.page.locator(".q-notification")).to_be_visible()


def test_the_chart_moves(visit: Visit) -> None:
    visitor = visit(Role.VIEWER)
    chart = visitor.page.get_by_role("img", name="Chart: Messages per second, over")
    expect(chart.locator("svg path").first).to_be_attached()
    before = chart.inner_html()
    while chart.inner_html() == before:  # the test's timeout ends this
        visitor.page.wait_for_timeout(200)
    figure = visitor.page.locator(".figure").filter(has_text="Messages in")
    expect(figure.locator("dd")).to_contain_text("16")  # from 160 to 169 a second are played


def test_the_history_and_the_cluster(visit: Visit) -> None:
    visitor = visit(Role.VIEWER, "/history")
    page = visitor.page
    chart = page.get_by_role("img", name="Chart: Messages, per second")
    expect(chart.locator("svg path").first).to_be_attached()
    visitor.go("/nodes")
    expect(visitor.row("gw3")).to_contain_text("Stopped")
    page.get_by_role("link", name="gw1").click()
    expect(page.get_by_text("Counted since it started")).to_be_visible()
    visitor.go("/kafka-topics")
    page.get_by_label("Search by name").fill("tbmq.msg.all")
    visitor.button("Settings: tbmq.msg.all").click()
    expect(visitor.dialog()).to_contain_text("retention.ms")


def test_authentication_providers(visit: Visit) -> None:
    """An order is stored; to let everybody in is asked twice."""
    visitor = visit(Role.ADMINISTRATOR, "/providers")
    page = visitor.page
    visitor.button("Settings: jwt").click()
    expect(visitor.dialog().get_by_role("button", name="Save")).to_be_visible()
    page.keyboard.press("Escape")
    visitor.button("Switch on: basic").click()
    expect(visitor.row("basic").first).to_contain_text("Asked as number 1")
    visitor.button("Switch off: basic").click()
    expect(visitor.dialog()).to_contain_text("everybody is let in")
    visitor.dialog().get_by_role("button", name="Switch off").click()
    expect(page.get_by_text("No provider is asked: everybody is let in.")).to_be_visible()
