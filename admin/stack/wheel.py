"""SluiceMQ as one file: the wheel that executors on other machines are sent (`--py-files`).

An executor has the Python packages that we depend on, and not ours; it puts what comes with an application on
its path.
"""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from admin.errors import AdminError

SOURCE = Path(__file__).parents[2]
"""The clone, or where the packages are installed."""
DESCRIPTION = ("setup.cfg", "pyproject.toml", "README.md", "spark-defaults.conf")
"""What the packages' build needs besides them."""


def build_wheel(place: Path) -> Path:
    """Build the wheel of this clone, without the network, and return its path.

    Args:
        place: Folder for it; wheels that it has already are removed.

    Raises:
        AdminError: There is no clone to build from, or the build failed.
    """
    if not (SOURCE / "pyproject.toml").is_file():
        raise AdminError(f"A Spark cluster is sent SluiceMQ from a clone, and {SOURCE} is none: use one.")
    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob("*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as temporary:
        # A copy: a build leaves files beside its sources, and would pack what an earlier one has left there.
        source = Path(temporary) / "source"
        copy_sources(source)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
        command += ["--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
    built = sorted(place.glob("*.whl"))
    if done.returncode != 0 or not built:
        said = " ".join((done.stdout + done.stderr).split())[-300:]
        raise AdminError(f"The wheel could not be built ({said}): pip install 'sluicemq[cluster]'.")
    return built[0]


def copy_sources(target: Path) -> None:
    """Copy the packages, and what their build needs, to a folder that is not there yet."""
    target.mkdir(parents=True)
    for name in DESCRIPTION:
        shutil.copy(SOURCE / name, target)
    for package in packages():
        shutil.copytree(SOURCE / package, target / package, ignore=shutil.ignore_patterns("__pycache__"))


def packages() -> list[str]:
    """The top-level packages, as setup.cfg has them."""
    return [name.rstrip("*") for name in settings()["options.packages.find"]["include"].split()]


def settings() -> configparser.ConfigParser:
    """What setup.cfg says."""
    read = configparser.ConfigParser()
    read.read(SOURCE / "setup.cfg")
    return read
