"""What the console ships beside its code: styles, drawings, scripts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

STATIC = Path(str(files("admin.console"))) / "static"


def static_text(name: str) -> str:
    """The text of a file."""
    return (STATIC / name).read_text("utf-8")
