"""The console's pages, one module for each kind of object; `load` registers them all."""

from __future__ import annotations

from importlib import import_module

NAMES = ("overview", "credentials", "authorization", "kept_out", "users", "tokens")


def load() -> None:
    """Have all pages be there."""
    for name in NAMES:
        import_module(f"{__name__}.{name}")
