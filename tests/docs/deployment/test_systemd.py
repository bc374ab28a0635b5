"""The units under docs/deploy/systemd: systemd takes them, our programs take what they start, and little is exposed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from telemetry.settings import LISTEN_VARIABLE
from tests.docs.deployment.product import DEPLOY, JOBS, admin_port, check_command, gateway_ports

FOLDER = DEPLOY / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
HARDENING = FOLDER / "sluicemq-.service.d" / "hardening.conf"
TARGETS = ("sysinit", "basic", "network-online", "multi-user", "shutdown")
EXPOSURE = 15
"""In tenths: what `systemd-analyze security` calls OK begins below 45."""
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="no systemd-analyze here")


def settings(path: Path) -> list[tuple[str, str, str]]:
    """Section, name and value of each setting, in order."""
    text = re.sub(r"\\\n\s*", "", path.read_text())
    found, section = [], ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals, line
            found.append((section, name, value))
    return found


def values(path: Path, wanted: str) -> list[str]:
    return [value for _, name, value in settings(path) if name == wanted]


def environment_of(path: Path) -> dict[str, str]:
    """What systemd puts into a unit's environment, from the files that are installed in /etc/sluicemq."""
    pairs = values(path, "Environment")
    for file in values(path, "EnvironmentFile"):
        assert Path(file).parent == Path("/etc/sluicemq")
        pairs += [
            line for line in (FOLDER / Path(file).name).read_text().splitlines() if line and line[0] != "#"
        ]
    found = dict(pair.replace("%d", "/run/credentials").split("=", 1) for pair in pairs)
    [start] = values(path, "ExecStart")
    for kind in re.findall(r"\$\{(\w+)_DIRECTORY\}", start):
        [folder] = values(path, f"{kind.title()}Directory")
        found[f"{kind}_DIRECTORY"] = f"/var/lib/{folder}"
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine on which the units and what they start are installed."""
    units = tmp_path / "etc/systemd/system"
    shutil.copytree(FOLDER, units, ignore=shutil.ignore_patterns("*.env"))
    for target in TARGETS:
        (units / f"{target}.target").write_text("[Unit]\nDescription=of systemd\n")
    for path in UNITS:
        program = tmp_path / shlex.split(values(path, "ExecStart")[0])[0].lstrip("/")
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch(0o755)
    return tmp_path


@needs_systemd
def test_systemd_takes_them(root: Path) -> None:
    found = sorted(str(path) for path in (root / "etc/systemd/system").glob("*.service"))
    done = subprocess.run(
        [str(ANALYZE), "verify", f"--root={root}", "--man=no", *found], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_little_is_exposed(path: Path, root: Path) -> None:
    done = subprocess.run(
        [str(ANALYZE), "security", "--offline=true", f"--root={root}", f"--threshold={EXPOSURE}", path.name],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_our_programs_take_command_and_environment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [start] = values(path, "ExecStart")
    environment, command = environment_of(path), shlex.split(start)
    check_command(command, environment, monkeypatch)


def test_each_part_has_one() -> None:
    assert {path.stem.removeprefix("sluicemq-") for path in UNITS} == {*JOBS, "gateway", "admin", "topics"}


def test_the_shared_part_overrules_nothing() -> None:
    """It is read after a unit's own file."""
    shared = {(section, name) for section, name, _ in settings(HARDENING)} - {("Unit", "After")}
    for path in UNITS:
        assert not shared & {(section, name) for section, name, _ in settings(path)}, path.name


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_it_is_started_again_and_with_the_machine(path: Path) -> None:
    assert values(path, "WantedBy") == ["multi-user.target"]
    if path.stem == "sluicemq-topics":
        assert values(path, "Type") == ["oneshot"]
    else:
        assert values(path, "Restart") == ["always"]
        assert ("Unit", "StartLimitIntervalSec", "0") in settings(HARDENING), "for as long as Kafka is away"


def test_each_part_on_a_machine_tells_of_itself_on_a_port_of_its_own() -> None:
    parts = [path for path in UNITS if path.stem != "sluicemq-topics"]
    addresses = [environment_of(path)[LISTEN_VARIABLE] for path in parts]
    assert len(set(addresses)) == len(parts)
    assert all(address.startswith("127.0.0.1:") for address in addresses), "it tells anybody who reaches it"
    taken = {*gateway_ports().values(), admin_port()}
    assert not {int(address.rpartition(":")[2]) for address in addresses} & taken
