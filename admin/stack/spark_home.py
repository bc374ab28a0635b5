"""Where the router's JVM finds Spark: PySpark's own folder, but with its Python part unzipped.

PySpark ships its Python part twice, as the installed package and as a zip in SPARK_HOME/python/lib, and Spark puts the
zip in front. Python keeps no compiled form of what it imports from a zip, so each of the job's five Python processes
compiled PySpark anew: 1.5 s of CPU each, a fifth of the whole stack's start. This folder has links where the zips are
expected, and they lead to the installed package.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from admin.stack.jars import home


def spark_home(pyspark: Path) -> Path:
    """Return a SPARK_HOME for an installed PySpark, making it when it is missing.

    Args:
        pyspark: The installed package's folder.
    """
    place = home() / "spark" / hashlib.sha256(str(pyspark).encode()).hexdigest()[:12]
    library = place / "python" / "lib"
    library.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars"):
        _link(place / name, pyspark / name)
    for archive in (pyspark / "python" / "lib").glob("*.zip"):
        _link(library / archive.name, pyspark.parent)
    return place


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    link.unlink(missing_ok=True)
    link.symlink_to(target)
