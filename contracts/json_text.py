"""JSON as records have it: UTF-8 whose strings are text that can be written again.

JSON can spell half of a surrogate pair. Python reads it, and then neither UTF-8 nor Arrow can be made of it; so a
record that has one must be refused where it is read, and not stop whoever writes it on.
"""

from __future__ import annotations

import json
from typing import Any


def load(value: bytes) -> Any:
    """Read a JSON value.

    Raises:
        ValueError: It is not JSON in UTF-8, or a string in it is not text.
        RecursionError: It nests deeper than Python recurses.
    """
    found = json.loads(value.decode())
    if b"\\u" in value:
        json.dumps(found, ensure_ascii=False).encode()  # raises UnicodeEncodeError, a ValueError
    return found


dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Write a JSON value without blanks. One encoder for all: `json.dumps` makes one for each call in this form."""
