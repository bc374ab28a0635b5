"""Every page of the console is complete, named and fits its width; `make screenshots` keeps pictures of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, expect

from admin.console.places import PLACES
from bench.browser import PATIENCE_MS
from identity.block_list import Block, Subject
from identity.blocked import BlockedClients
from identity.credentials_file import read_credentials
from identity.roles import Role
from identity.stored_credentials import StoredCredentials
from tests.admin.console.conftest import Console, Visit
from tests.browser import Visitor

pytestmark = pytest.mark.timeout(600)
expect.set_options(timeout=PATIENCE_MS)

PATHS = [place.path for _, places in PLACES for place in places] + ["/client?id=lamp-00", "/node?name=gw1"]
_DARK = ("/", "/clients", "/client?id=lamp-00")
_NARROW = ("/", "/clients", "/mqtt-client")
_LARGEST = 150_000
"""Bytes of a picture that is kept."""
_BEGINNING: FloatRect = {"x": 0, "y": 0, "width": 1280, "height": 600}
_LINE_MS = 26_000
"""Until charts have a line worth a picture."""

UNNAMED = """() => [...document.querySelectorAll("input, textarea, select, button, a")]
    .filter((one) => one.checkVisibility() && !one.labels?.length && !one.textContent.trim()
        && !one.getAttribute("aria-label") && !one.getAttribute("title"))
    .map((one) => one.outerHTML)"""
"""What a screen reader could not name."""


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path | None:
    """Where pictures are kept; None where nobody asked for them."""
    asked: str | None = request.config.getoption("--write-screenshots", None)
    if asked is None:
        return None
    folder = Path(asked)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module", autouse=True)
def furnished(console: Console) -> None:
    """Something to look at where the played cluster has nothing."""
    rows = ["Name,Client ID,Username,Password,Pub auth rule patterns,Sub auth rule patterns\n"]
    rows += [f"room-{n},,room-{n},a-long-secret-{n},lamps/{n}/.*,lamps/{n}/set;lamps/all\n" for n in range(4)]
    StoredCredentials(console.database).put(read_credentials(rows))
    BlockedClients(console.database).put([Block(Subject.ADDRESS, "192.0.2.99", False, "Tries passwords")])


@pytest.mark.parametrize("kind", ["", "narrow", "dark"])
def test_every_page(visit: Visit, pictures: Path | None, kind: str) -> None:
    """Each has one heading, names for all that can be used, tells of no problem, and fits the width."""
    visitor = visit(Role.ADMINISTRATOR, narrow=kind == "narrow", dark=kind == "dark")
    page = visitor.page
    for path in PATHS if kind != "dark" else _DARK:
        visitor.go(path)
        expect(page.locator("h1")).to_have_count(1)
        assert page.locator(".notice-bad").all_inner_texts() == [], path
        assert page.evaluate(UNNAMED) == [], path
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        if pictures and (not kind or path in (_NARROW if kind == "narrow" else _DARK)):
            _keep(visitor, path, pictures, kind)


def _keep(visitor: Visitor, path: str, folder: Path, kind: str) -> None:
    page = visitor.page
    if path == "/route-test":
        page.get_by_label("Topic").fill("lamps/00/set")
        visitor.button("Test").click()
        visitor.row("lamp-00").wait_for()
    if path == "/":
        page.wait_for_timeout(_LINE_MS)
    name = re.sub(r"\W+", "-", path.partition("?")[0].strip("/")) or "overview"
    file = folder / f"{name}{'-' * bool(kind)}{kind}.png"
    page.screenshot(path=file, animations="disabled", caret="hide")
    if file.stat().st_size >= _LARGEST:  # a long list: its beginning will do
        page.screenshot(path=file, animations="disabled", caret="hide", clip=_BEGINNING)
    assert file.stat().st_size < _LARGEST, f"{file} is too large to be kept"
