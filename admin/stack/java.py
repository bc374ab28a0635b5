"""Find the Java that runs Kafka and Spark, and say in one sentence what to install when there is none.

Run as `python -m admin.stack.java` it does the check alone, before anything is installed: standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from admin.errors import AdminError, exit_status_of

MINIMUM = 17
"""Kafka 4.1's broker and Spark 4 both need Java 17 or newer."""

_INSTALL = f"install Java {MINIMUM} or newer (Debian: apt-get install openjdk-{MINIMUM}-jre-headless)"


def find_java() -> str:
    """Return the path of a `java` that is new enough: from JAVA_HOME when it is set, else from PATH.

    Raises:
        AdminError: There is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).is_file():
        where = f"in JAVA_HOME ({home})" if home else "on PATH"
        raise AdminError(f"There is no Java {where}: {_INSTALL}.")
    version = java_version(java)
    if version < MINIMUM:
        raise AdminError(f"{java} is Java {version}, which is too old: {_INSTALL}.")
    return java


def java_version(java: str) -> int:
    """Return the major version of a `java` program; 8 for the old form `1.8`.

    Raises:
        AdminError: It does not run, or does not tell its version.
    """
    try:
        # `java -version` has written to stderr since ever.
        shown = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=True, timeout=60
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise AdminError(f"{java} does not run ({error}): {_INSTALL}.") from error
    return parse_version(shown)


def parse_version(shown: str) -> int:
    """Return the major version in the output of `java -version`.

    Raises:
        AdminError: There is no version in it.
    """
    match = re.search(r'version "(?:1\.)?(\d+)', shown)
    if not match:
        raise AdminError(f"Java does not tell its version: {_INSTALL}.")
    return int(match[1])


def main() -> int:
    """Check, print the sentence when the check fails, and return the exit status."""
    return exit_status_of(find_java)


if __name__ == "__main__":
    sys.exit(main())
