"""The overview: what the broker does, at a glance."""

from __future__ import annotations

from admin.console.shell import console_page, page_head
from admin.console.view import View


@console_page("/", "Overview")
async def overview(_: View) -> None:
    """The first page."""
    page_head("Overview")
