"""The jars of the Kafka broker and of Spark's Kafka connector, in a cache that all clones of one user share.

`ivy.xml` says which, and `ivy-delta.xml` those of Delta Lake; the ivy that PySpark ships fetches them. Run as
`python -m admin.stack.jars` (`make venv` does) it makes sure that the former are there, and with the argument `delta`
the latter too, so that no later start waits for a download. This module never imports PySpark.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from admin.errors import AdminError, exit_status_of
from admin.stack.java import find_java

DESCRIPTION = Path(__file__).with_name("ivy.xml")
_OF_DELTA = Path(__file__).with_name("ivy-delta.xml")
ATTEMPTS = 3
"""A download that breaks off is common, and ivy keeps what it already has: three tries get through a flaky network."""


def home() -> Path:
    """Return the folder for what is downloaded: SLUICEMQ_HOME, else `sluicemq` in the user's cache folder."""
    if given := os.environ.get("SLUICEMQ_HOME"):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "sluicemq"


def broker_jars() -> list[Path]:
    """Return the class path of the Kafka broker, fetching it first where it is missing."""
    return sorted((ensure_jars() / "broker").glob("*.jar"))


def connector_jars() -> list[Path]:
    """Return the jars for `spark.jars`, fetching them first where they are missing."""
    return sorted((ensure_jars() / "connector").glob("*.jar"))


def delta_jars() -> list[Path]:
    """Return the jars of Delta Lake, fetching them first where they are missing; only who wants it has them."""
    return sorted((_ensure(_OF_DELTA, ("delta",)) / "delta").glob("*.jar"))


def ensure_jars() -> Path:
    """Return the folder with `broker/` and `connector/`, complete.

    Raises:
        AdminError: The download failed, or the cache folder cannot be written.
    """
    return _ensure(DESCRIPTION, ("broker", "connector"))


def _ensure(description: Path, parts: Sequence[str]) -> Path:
    """Return the folder with the parts that a description names.

    The folder is named after the content of the description, so another version of it gets another folder, and is moved
    to its name only when it is complete, so a download that was interrupted is never used.
    """
    place = home() / "jars" / hashlib.sha256(description.read_bytes()).hexdigest()[:12]
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / "lock").open("w") as lock:
            # Whoever comes second, in another clone or process, waits here and then finds the work done.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.is_dir():
                _fetch(description, parts, place)
    except OSError as error:
        raise AdminError(
            f"Cannot write to the cache folder {home()} ({error.strerror}): set SLUICEMQ_HOME to another folder."
        ) from error
    return place


def _fetch(description: Path, parts: Sequence[str], place: Path) -> None:
    what = f"the jars of {' and '.join(parts)}"
    sys.stderr.write(f"Fetching {what} (once) into {place.parent}\n")
    with tempfile.TemporaryDirectory(dir=place.parent) as temporary:
        target = Path(temporary) / "new"
        command = [
            find_java(),
            "-jar",
            str(_ivy()),
            "-ivy",
            str(description),
            "-confs",
            *parts,
        ]
        command += [
            "-cache",
            str(home() / "ivy"),
            "-retrieve",
            f"{target}/[conf]/[artifact]-[revision].[ext]",
        ]
        for _ in range(ATTEMPTS):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0 and all(any((target / part).glob("*.jar")) for part in parts):
                target.rename(place)
                return
            shutil.rmtree(target, ignore_errors=True)
    (home() / "ivy.log").write_text(done.stdout + done.stderr)
    raise AdminError(
        f"{what.capitalize()} could not be downloaded in {ATTEMPTS} tries: check the network or proxy and"
        f" try again (details in {home() / 'ivy.log'})."
    )


def _ivy() -> Path:
    # find_spec does not import the package, which would take a second.
    spec = importlib.util.find_spec("pyspark")
    jars = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar")) if spec and spec.origin else []
    if not jars:
        raise AdminError(
            "PySpark with its jars is not installed in this Python: run `make venv`, or install sluicemq[embedded]."
        )
    return jars[-1]


def main() -> int:
    """Fetch what is missing, print the sentence when that fails, and return the exit status."""
    return exit_status_of(_wanted)


def _wanted() -> None:
    ensure_jars()
    if sys.argv[1:] == ["delta"]:
        delta_jars()


if __name__ == "__main__":
    sys.exit(main())
