"""docs/deploy/install.sh, by which images are made: run in a fresh folder, offline, it gives what units start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from admin.stack.jars import delta_jars, ensure_jars
from admin.stack.wheel import build_wheel
from tests.docs.deployment.product import DEPLOY, JOBS

SCRIPT = DEPLOY / "install.sh"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script has made of this clone, with all extras that images have."""
    place = tmp_path_factory.mktemp("install")
    fetched = place / "fetched"
    (fetched / "jars").mkdir(parents=True)
    for jars in (ensure_jars(), delta_jars()[0].parents[1]):  # as if they had been fetched
        (fetched / "jars" / jars.name).symlink_to(jars)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHON": sys.executable,
        "SLUICEMQ_HOME": str(fetched),
        # No registry: what the package depends on is lent by this Python, and Spark by a folder of links, since its
        # jars are added to.
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PYTHONPATH": _lent_packages(place / "lent"),
    }
    wheel = build_wheel(place / "dist")
    command = ["/bin/sh", str(SCRIPT), str(place / "sluicemq"), str(wheel), "spark,admin,postgresql", "delta"]
    # In the clone, as images do it: what is there must not be taken for what was installed.
    done = subprocess.run(command, env=environment, cwd=DEPLOY.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "sluicemq"


def _lent_packages(place: Path) -> str:
    packages, spark = Path(pyspark.__file__).parents[1], place / "pyspark"
    (spark / "jars").mkdir(parents=True)
    for found in packages.iterdir():
        if found.name != "pyspark" and not found.name.startswith(("sluicemq", "__editable__")):
            (place / found.name).symlink_to(found)
    for found in (packages / "pyspark").iterdir():
        if found.name != "jars":
            (spark / found.name).symlink_to(found)
    for jar in (packages / "pyspark" / "jars").iterdir():
        (spark / "jars" / jar.name).symlink_to(jar)
    return str(place)


def run(installed: Path, *command: str) -> str:
    """What a program of the installation prints, in an environment that knows nothing of this clone."""
    environment = {
        "PATH": os.environ["PATH"],
        "SPARK_HOME": str(installed / "spark"),
        "PYTHONPATH": str(installed.parent / "lent"),
    }
    done = subprocess.run(
        [str(installed / command[0]), *command[1:]],
        env=environment, cwd=installed.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_is_the_command(installed: Path) -> None:
    assert "SluiceMQ" in run(installed, "bin/sluicemq", "--version")


def test_there_are_the_jobs_by_names_that_stay(installed: Path) -> None:
    jobs = {path.stem: path.resolve() for path in (installed / "jobs").iterdir()}
    assert jobs.keys() == JOBS.keys()
    for name, job in jobs.items():
        assert job.is_relative_to(installed), "our own, not the clone's"
        code = Path(JOBS[name].__code__.co_filename)
        assert job.read_text() == code.read_text(), name


def test_the_settings_are_where_units_and_images_look(installed: Path) -> None:
    assert (installed / "share/sluicemq/spark-defaults.conf").is_file()


def test_there_is_a_spark_home_with_the_connector(installed: Path) -> None:
    assert os.access(installed / "spark/bin/spark-submit", os.X_OK)
    assert list((installed / "spark/jars").glob("spark-sql-kafka-*.jar"))
    assert list((installed / "spark/jars").glob("spark-core_*.jar"))


def test_it_has_delta_lake_where_that_is_asked_for(installed: Path) -> None:
    assert {path.name for path in delta_jars()} <= {
        path.name for path in (installed / "spark/jars").iterdir()
    }


def test_a_job_finds_all_that_it_imports(installed: Path) -> None:
    assert "--checkpoint" in run(installed, "bin/python", str(installed / "jobs/router.py"), "--help")


def test_without_spark_nothing_is_asked_of_java_or_the_network(tmp_path: Path) -> None:
    """As in the images of gateways. The interpreter stands in: it makes a folder with a pip, and no Python at all."""
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\nmkdir -p "$3/bin" && printf "#!/bin/sh\\necho \\$*\\n" > "$3/bin/pip" && chmod +x "$3/bin/pip"\n'
    )
    python.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(SCRIPT), str(tmp_path / "sluicemq"), "some.whl", "postgresql"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": str(python)}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split()[-1] == "some.whl[postgresql]"
    assert not (tmp_path / "sluicemq/jobs").exists()


def test_it_says_how_it_is_called(tmp_path: Path) -> None:
    done = subprocess.run(["/bin/sh", str(SCRIPT), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 2
    assert "install.sh FOLDER WHEEL" in done.stderr
