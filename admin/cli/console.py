"""Where the command prints: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import sys

from rich.console import Console

# Where nobody looks there is no width to fit into; 80, rich's guess, would cut Kafka topic names in two.
out = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
"""Results: what a script may read."""
err = Console(stderr=True, highlight=False)
"""Progress and errors: what a person reads."""


def tell(line: str) -> None:
    """Print one line of progress."""
    err.print(line, markup=False, soft_wrap=True)
