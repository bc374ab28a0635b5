"""Class archives: what a JVM has loaded once, kept in the form in which the next one maps it (JEP 350).

Loading and verifying thousands of classes is most of what a starting Kafka and a starting Spark do; with an archive a
start takes a third less CPU. An archive belongs to one Java and one class path, and its name says which. Where there is
none, or it does not fit, a JVM starts without: nothing depends on them but time.

Run as `python -m admin.stack.class_archives` (`make venv` does) it makes them, by one run of the broker and of the
router over an empty topic.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from admin.errors import AdminError
from admin.stack.jars import home
from admin.stack.java import find_java

_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""An archive that does not fit is no news for the logs."""


def archive(part: str, class_path: Sequence[Path]) -> Path:
    """Return where a part's archive is, or would be."""
    java = Path(find_java()).resolve()
    key = "\n".join([str(java), str(java.stat().st_mtime_ns), *map(str, class_path)])
    return home() / "classes" / f"{part}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.jsa"


def use_archive(part: str, class_path: Sequence[Path]) -> tuple[str, ...]:
    """Return the JVM's options for using a part's archive; none where there is no archive."""
    found = archive(part, class_path)
    if os.environ.get(_MAKING) == part:
        found.parent.mkdir(parents=True, exist_ok=True)
        return (f"-XX:ArchiveClassesAtExit={found}", *_QUIET)
    return (f"-XX:SharedArchiveFile={found}", *_QUIET) if found.exists() else ()


_MAKING = "SLUICEMQ_MAKE_CLASS_ARCHIVE"


def main() -> int:
    """Make the archives that are missing; what goes wrong is told, and is no failure."""
    # Here, not at the top: both modules ask this one for their options.
    from admin.stack.kafka import KafkaBroker, running_kafka
    from admin.stack.router import train
    from admin.stack.spark_submit import class_path

    wanted = [
        ("kafka", archive("kafka", KafkaBroker.class_path())),
        ("router", archive("router", class_path())),
    ]
    missing = [part for part, path in wanted if not path.exists()]
    if not missing:
        return 0
    sys.stderr.write("Preparing quick starts of Kafka and Spark (a minute, once)\n")
    try:
        for part in missing:
            os.environ[_MAKING] = part
            with (
                tempfile.TemporaryDirectory() as temporary,
                running_kafka(Path(temporary), 120.0) as (broker, _),
            ):
                if part == "router":
                    train(Path(temporary) / "router", broker.bootstrap)
    except (AdminError, OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"Starts will take longer: {error}\n")
        for _, path in wanted:
            with suppress(OSError):
                path.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
