"""What docs/operations.md says of backing up the database of identity and of putting it back, done so."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from identity.credentials import BasicCredentials
from identity.database import Database, Group
from identity.stored_credentials import StoredCredentials
from tests.stores.servers import StoreServer

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
COPIED = 40
"""Credentials that are surely in the copy; others are written while it is made."""


def fill(database: Database, numbers: range) -> None:
    credentials = StoredCredentials(database)
    for number in numbers:
        credentials.add(BasicCredentials(name=f"c{number}", client_id=f"d{number}"))


def test_a_file_is_copied_while_it_is_used_and_put_back(
    tmp_path: Path, open_it: Callable[[str], Database]
) -> None:
    file, copy = tmp_path / "identity.db", tmp_path / "copy.db"
    database = open_it(f"sqlite:///{file}")
    fill(database, range(COPIED))
    writer = threading.Thread(target=fill, args=(database, range(COPIED, 2 * COPIED)))
    writer.start()
    [command] = re.findall(r"\"VACUUM INTO '(.*)'\"", PAGE.read_text())
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"VACUUM INTO '{copy}'")
    assert command.endswith("identity.db")
    writer.join()
    StoredCredentials(database).remove("c0")
    database.close()

    # The file is lost, and what belonged to it lies about: it must not be taken for the copy's.
    file.write_bytes(b"lost")
    Path(f"{file}-wal").write_bytes(b"of another file")
    for name in ("", "-wal", "-shm"):
        Path(f"{file}{name}").unlink(missing_ok=True)
    shutil.copy(copy, file)
    restored = open_it(f"sqlite:///{file}")
    names = {one.name for one in StoredCredentials(restored).list()}
    assert {f"c{number}" for number in range(COPIED)} <= names, "c0 too, which was removed after the copy"
    assert restored.revisions()[Group.CREDENTIALS] == len(names), "revision and credentials are of one moment"
    assert file.stat().st_mode & 0o077 == 0
    StoredCredentials(restored).add(BasicCredentials(name="new", client_id="new"))


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_a_dump_of_postgresql_is_put_back(server: StoreServer, open_it: Callable[[str], Database]) -> None:
    spec = find_spec("pgserver")
    assert spec is not None
    assert spec.origin is not None
    programs = Path(spec.origin).parent / "pginstall" / "bin"
    before, after = server.fresh()["url"], server.fresh()["url"]
    database = open_it(before)
    fill(database, range(COPIED))
    dump = subprocess.run(
        [str(programs / "pg_dump"), "--format=custom", before], check=True, capture_output=True
    ).stdout
    subprocess.run(
        [str(programs / "pg_restore"), f"--dbname={after}"], input=dump, check=True, capture_output=True
    )
    restored = open_it(after)
    assert {one.name for one in StoredCredentials(restored).list()} == {f"c{n}" for n in range(COPIED)}
    assert restored.revisions() == database.revisions()
