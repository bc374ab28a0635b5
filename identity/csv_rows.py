"""Rows of a CSV file whose first line names the columns, in any order; what is wrong is told with its line."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator

from identity.errors import InvalidError

Row = dict[str, str]
"""By column; a column that the file has not is missing, a cell that its line has not is empty."""
YES_OR_NO = {"": False, "false": False, "no": False, "true": True, "yes": True}


def read_rows(lines: Iterable[str], columns: Collection[str], required: str) -> Iterator[tuple[int, Row]]:
    """The number of each row's last line, and the row; rows that are empty are left out.

    Args:
        lines: Of the file, with their ends.
        columns: What there may be: in small letters, with `_` for whatever stands between words.
        required: The one that must be there.

    Raises:
        InvalidError: This is no such file. No cell is shown, as any may hold a password that slipped into it.
    """
    reader = csv.reader(lines, strict=True)
    try:
        header = [_column(number, name, columns) for number, name in enumerate(next(reader, []), 1)]
        if required not in header or len(set(header)) != len(header):
            raise InvalidError(f"the first line must name the columns, {required} among them, each once")
        for cells in reader:
            if len(cells) > len(header):
                raise InvalidError(
                    f"line {reader.line_num}: {len(cells)} cells, but {len(header)} columns: put cells with commas "
                    "in double quotes"
                )
            if any(cells):
                padded = cells + [""] * (len(header) - len(cells))
                yield reader.line_num, dict(zip(header, padded, strict=True))
    except csv.Error as error:
        raise InvalidError(f"line {reader.line_num}: this is not CSV ({error})") from None
    except UnicodeDecodeError:
        raise InvalidError("the file is not UTF-8: save it as that") from None


def yes_or_no(cell: str, what: str) -> bool:
    """What a cell says.

    Raises:
        InvalidError: It says neither.
    """
    said = YES_OR_NO.get(cell.strip().lower())
    if said is None:
        raise InvalidError(f"{what}: write true or false")
    return said


def _column(number: int, name: str, columns: Collection[str]) -> str:
    column = re.sub(r"[^a-z0-9]+", "_", name.removeprefix("\ufeff").strip().lower())
    if column not in columns:
        raise InvalidError(
            f"the first line's cell {number} names no column that there is: {', '.join(sorted(columns))}"
        )
    return column
