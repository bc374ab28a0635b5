"""A browser on the console, for tests and bench: Debian's Chromium, without a window, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

PATIENCE_MS = 120_000
"""How long is waited for what is to show, on a machine that has much else to do."""


def chromium() -> str | None:
    """The program; None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((program for name in names if (program := shutil.which(name))), None)


@contextmanager
def running_chromium(program: str) -> Iterator[Browser]:
    """Run it. While it runs, this thread has an event loop that others would stumble over."""
    # As root, in containers, its sandbox cannot be; it sees nothing but the console.
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=arguments, env={**os.environ, "TZ": "UTC"}, timeout=PATIENCE_MS
        )
        try:
            yield browser
        finally:
            browser.close()


def log_in(page: Page, url: str, name: str, password: str, place: str = "/") -> None:
    """Log in, and go to a place of the console at this URL."""
    page.goto(f"{url}/console{place}")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    wait_ready(page)


def wait_ready(page: Page) -> None:
    """Wait until a page of the console is there, and hears what is clicked."""
    page.locator("main.page h1").wait_for()
    page.wait_for_function("window.socket?.connected && window.did_handshake")
