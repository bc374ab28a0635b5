"""The console's pages in a browser, as far as they need no broker."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from bench.browser import PATIENCE_MS
from identity.roles import Role
from tests.admin.console.conftest import PASSWORD, Console, Visit

pytestmark = pytest.mark.timeout(600)
expect.set_options(timeout=PATIENCE_MS)


def test_the_way_in(visit: Visit, console: Console) -> None:
    """Nobody can log in at first, and is told what to do; then it leads to where one wanted to go."""
    visitor = visit(None)
    page = visitor.page
    page.goto(f"{console.url}/")
    expect(page.get_by_text("sluicemq users add")).to_be_visible()
    visit(Role.ADMINISTRATOR)  # the first user
    page.goto(f"{console.url}/console/credentials?search=x")
    expect(page).to_have_url(re.compile("/console/login"))
    expect(page.get_by_text("sluicemq users add")).to_be_hidden()
    page.get_by_label("Name").fill("administrator")
    page.get_by_label("Password").fill("not this")
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("name or password is wrong")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_label("Search by name")).to_have_value("x")
    visitor.wait_ready()
    visitor.button("Log out").click()
    expect(page).to_have_url(re.compile("/console/login"))
    page.goto(f"{console.url}/console/users")
    expect(page).to_have_url(re.compile("/console/login"))


def test_another_sites_link_leads_nowhere_else(visit: Visit, console: Console) -> None:
    page = visit(None).page
    page.goto(f"{console.url}/console/login?next=//example.invalid/")
    page.get_by_label("Name").fill("administrator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page).to_have_url(f"{console.url}/console/")


def test_credentials(visit: Visit) -> None:
    """They are created, found, tried, changed and removed; what cannot be is said in the form."""
    visitor = visit(Role.OPERATOR, "/credentials")
    page = visitor.page
    visitor.button("New credentials").click()
    form = visitor.dialog()
    form.get_by_label("Name", exact=True).fill("lamp")
    form.get_by_label("User name").fill("lamp")
    form.get_by_role("button", name="Create").click()
    expect(form.get_by_role("alert")).to_contain_text("Give a password")
    form.get_by_label("Password", exact=True).fill("light-and-shade")
    form.get_by_label("May publish to", exact=True).click()
    page.get_by_role("option", name="What a pattern matches").click()
    form.get_by_label("May publish to: patterns").fill("lamps/.*")
    form.get_by_role("button", name="Create").click()
    expect(form).to_be_hidden()
    expect(visitor.row("lamps/.*")).to_contain_text("user name lamp")

    page.get_by_label("Search by name").fill("nobody")
    expect(page.get_by_text("Nothing holds “nobody”.")).to_be_visible()
    page.get_by_label("Search by name").fill("LAMP")
    expect(visitor.row("lamps/.*")).to_be_visible()

    visitor.button("Change: lamp").click()
    form = visitor.dialog()
    form.get_by_label("May publish to: patterns").fill("lamps/.*\ncolours/.*")
    form.get_by_role("button", name="Save").click()
    expect(visitor.row("lamps/.*")).to_contain_text("and 1 more")

    visitor.go("/authorization?credentials=lamp")
    page.get_by_label("Client ID").fill("lamp-1")
    page.get_by_label("Topic, or filter").fill("colours/red")
    page.get_by_label("Topic, or filter").press("Enter")
    expect(page.get_by_text("Allowed, by the rule colours/.*")).to_be_visible()
    page.get_by_label("Topic, or filter").fill("doors/1")
    visitor.button("Test").click()
    expect(page.get_by_text("Denied")).to_be_visible()

    visitor.go("/credentials")
    visitor.button("Remove: lamp").click()
    expect(visitor.dialog()).to_contain_text("cannot connect")
    visitor.dialog().get_by_role("button", name="Cancel").click()
    expect(visitor.dialog()).to_be_hidden()
    expect(visitor.row("lamps/.*")).to_be_visible()
    visitor.button("Remove: lamp").click()
    visitor.dialog().get_by_role("button", name="Remove").click()
    expect(page.get_by_text("There are no credentials yet.")).to_be_visible()


def test_import(visit: Visit) -> None:
    """A file is taken whole or not at all; long lists have pages."""
    visitor = visit(Role.OPERATOR, "/credentials")
    page = visitor.page
    lines = ["Name,Username,Pub auth rule patterns"] + [f"bulk-{n:03},bulk-{n},a" for n in range(120)]
    visitor.button("Import").click()
    form = visitor.dialog()
    form.locator("input[type=file]").set_input_files(
        {"name": "credentials.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()}
    )
    expect(form.get_by_label("Or its text")).to_have_value(re.compile("bulk-119"))
    form.get_by_role("button", name="Import").click()
    expect(form.get_by_role("alert")).to_contain_text("assword")
    form.get_by_role("checkbox").click()
    form.get_by_role("button", name="Import").click()
    expect(page.get_by_text("1–50 of 120")).to_be_visible()
    visitor.button("Next").click()
    expect(visitor.row("bulk-050")).to_be_visible()
    visitor.button("Previous").click()
    expect(visitor.row("bulk-000")).to_be_visible()


def test_users_tokens_and_blocks(visit: Visit) -> None:
    visitor = visit(Role.ADMINISTRATOR, "/users")
    page = visitor.page
    visitor.button("New user").click()
    form = visitor.dialog()
    form.get_by_label("Name").fill("carol")
    form.get_by_label("Password").fill("short")
    form.get_by_role("button", name="Create").click()
    expect(form.get_by_role("alert")).to_be_visible()
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button", name="Create").click()
    expect(visitor.row("carol")).to_contain_text("Viewer")

    visitor.go("/tokens")
    visitor.button("New token").click()
    visitor.dialog().get_by_label("Name").fill("ci")
    visitor.dialog().get_by_role("button", name="Create").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    visitor.button("Done").click()
    expect(visitor.row("ci")).to_contain_text("administrator")

    visitor.go("/blocked")
    visitor.button("Block a client").click()
    visitor.dialog().get_by_label("Value").fill("intruder")
    visitor.dialog().get_by_role("button", name="Block").click()
    expect(visitor.row("intruder")).to_contain_text("for ever")
    visitor.button("Unblock: intruder").click()
    visitor.dialog().get_by_role("button", name="Unblock").click()
    expect(page.get_by_text("Nobody is blocked.")).to_be_visible()


def test_a_viewer_changes_nothing(visit: Visit) -> None:
    visitor = visit(Role.VIEWER, "/credentials")
    page = visitor.page
    expect(visitor.button("New credentials")).to_be_hidden()
    expect(page.get_by_role("link", name="Users")).to_be_hidden()
    visitor.go("/users")
    expect(page.get_by_text("This needs the role administrator")).to_be_visible()


def test_with_the_keyboard(visit: Visit) -> None:
    """The first stop leads to the content; a dialog takes the focus, Enter sends it, and Escape closes it."""
    visitor = visit(Role.ADMINISTRATOR, "/blocked")
    page = visitor.page
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Block a client")
    page.keyboard.press("Enter")
    expect(visitor.dialog()).to_be_visible()
    page.keyboard.press("Escape")
    expect(visitor.dialog()).to_be_hidden()
    visitor.button("Block a client").press("Enter")
    visitor.dialog().get_by_label("Value").fill("by-keyboard")
    visitor.dialog().get_by_label("Value").press("Enter")
    expect(visitor.row("by-keyboard")).to_be_visible()


def test_the_theme_stays(visit: Visit) -> None:
    visitor = visit(Role.VIEWER)
    page = visitor.page
    expect(page.locator("body")).to_have_class(re.compile("body--light"))
    page.get_by_role("combobox", name="Theme").click()
    page.get_by_role("option", name="Theme: dark").click()
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    page.wait_for_function("document.cookie.includes('sluicemq_theme=dark')")
    visitor.go("/tokens")
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
