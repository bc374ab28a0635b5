"""What this process tells whoever started it, on standard output: people, systemd, the embedded stack."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping


def announce(what: str, details: Mapping[str, object]) -> None:
    """Write a line: what has happened, and JSON."""
    sys.stdout.write(f"{what} {json.dumps(details)}\n")
    sys.stdout.flush()
