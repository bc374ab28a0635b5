"""Where the command prints: results on stdout, progress and errors on stderr."""

from __future__ import annotations

from rich.console import Console

out = Console(highlight=False)
"""Results: what a script may read."""
err = Console(stderr=True, highlight=False)
"""Progress and errors: what a person reads."""


def tell(line: str) -> None:
    """Print one line of progress."""
    err.print(line, markup=False, soft_wrap=True)
