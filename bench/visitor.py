"""Somebody who has the console's overview open in a browser, as a process of its own that can be stopped.

Arguments: the console's URL and a user's name; the first line on standard input is the password. It and each further
one is answered with a line that says how often a chart was drawn so far. The end of the input is the end of the visit.
"""

from __future__ import annotations

import json
import sys

from playwright.sync_api import Page

from bench.browser import PATIENCE_MS, chromium, log_in, running_chromium

_WIDE = {"width": 1280, "height": 860}
# Each chart is watched by itself: what one look changes in it comes as one call.
_COUNT = """() => {
  window.drawn = 0;
  for (const chart of document.querySelectorAll(".chart"))
    new MutationObserver(() => window.drawn++).observe(chart, {subtree: true, childList: true, attributes: true});
}"""


def main(url: str, name: str) -> None:
    """Open the overview, and leave it open."""
    program = chromium()
    if program is None:
        sys.exit("There is no Chromium: Debian's package is called chromium.")
    password = sys.stdin.readline().rstrip("\n")
    with running_chromium(program) as browser:
        context = browser.new_context(viewport=_WIDE)  # type: ignore[arg-type]  # its type is not public
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        log_in(page, url, name, password)
        page.locator(".chart svg").first.wait_for()
        page.evaluate(_COUNT)
        page.wait_for_function("window.drawn > 0")  # They are alive.
        _tell(page)
        for _ in sys.stdin:
            _tell(page)


def _tell(page: Page) -> None:
    print(json.dumps({"drawn": page.evaluate("window.drawn")}), flush=True)  # noqa: T201 - whoever started it reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
