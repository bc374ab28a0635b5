"""A browser as a person uses it: Debian's Chromium, without a window, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page

from bench.browser import PATIENCE_MS, chromium, log_in, running_chromium, wait_ready

WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium; the test is skipped where there is none.

    It belongs to one module's tests: while it runs, this thread has an event loop that others would stumble over.
    """
    program = chromium()
    if program is None:
        pytest.skip("there is no Chromium: Debian's package is called chromium")
    with running_chromium(program) as browser:
        yield browser


class Visitor:
    """Somebody before a browser of its own, who looks at a console."""

    def __init__(self, browser: Browser, url: str, *, narrow: bool = False, dark: bool = False) -> None:
        """`url`: where the administration listens."""
        self.url = url
        self.context: BrowserContext = browser.new_context(
            viewport=NARROW if narrow else WIDE,  # type: ignore[arg-type]  # its type is not public
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.strangers: set[str] = set()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(self.url).netloc:
            self.strangers.add(url)

    def log_in(self, name: str, password: str, place: str = "/") -> None:
        """Log in, and go to a place of the console."""
        log_in(self.page, self.url, name, password, place)

    def go(self, place: str) -> None:
        """Go to a place of the console."""
        self.page.goto(f"{self.url}/console{place}")
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until a page is there, and hears what is clicked."""
        wait_ready(self.page)

    def button(self, name: str) -> Locator:
        """The button of this name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def row(self, text: str) -> Locator:
        """The row of a list that holds a text."""
        return self.page.get_by_role("row").filter(has_text=text)

    def dialog(self) -> Locator:
        """The dialog that is open."""
        return self.page.get_by_role("dialog")

    def leave(self) -> None:
        """Close the browser's window; what went wrong on its pages comes out."""
        self.context.close()
        assert not self.faults
        assert not self.strangers
