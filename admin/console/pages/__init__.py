"""The console's pages, one module for each kind of object; `load` registers them all."""

from __future__ import annotations

from importlib import import_module

NAMES = (
    "overview", "history", "clients", "client", "subscriptions", "shared", "retained", "mqtt_client", "publish",
    "route_test", "credentials", "providers", "authorization", "kept_out", "nodes", "router", "kafka", "users",
    "tokens",
)  # fmt: skip


def load() -> None:
    """Have all pages be there."""
    for name in NAMES:
        import_module(f"{__name__}.{name}")
