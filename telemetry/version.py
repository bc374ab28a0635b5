"""Which SluiceMQ this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """The version that is installed, or `unknown` when it runs from a folder that nobody installed."""
    try:
        return version("sluicemq")
    except PackageNotFoundError:
        return "unknown"
