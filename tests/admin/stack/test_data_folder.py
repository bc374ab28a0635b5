"""One stack a folder, and a clear sentence for the second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from admin.errors import AdminError, UsageError
from admin.stack.data_folder import locked_data_folder

HOLD = """
import sys
from pathlib import Path
from admin.stack.data_folder import locked_data_folder
with locked_data_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_second_stack_on_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(AdminError, match=rf"already runs on {folder} \(process {holder.pid}\)"),
            locked_data_folder(folder),
        ):
            pass
        holder.kill()
    with locked_data_folder(folder) as data:
        assert data.path == folder
        assert (folder / "lock").is_file()


def test_a_dead_supervisors_watcher_is_waited_for(tmp_path: Path) -> None:
    # The parent dies; its child, like the watcher, holds the lock a moment longer.
    code = """
import os, subprocess, sys
from pathlib import Path
from admin.stack.data_folder import locked_data_folder
with locked_data_folder(Path(sys.argv[1])) as data:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"], pass_fds=[data.lock])
    os._exit(9)
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(tmp_path)]).returncode == 9
    with locked_data_folder(tmp_path) as data:
        assert data.logs == tmp_path / "logs"


@pytest.mark.parametrize("below", ["", "x", "x/y"])
def test_a_file_where_the_folder_should_be(tmp_path: Path, below: str) -> None:
    # Not a folder without write permission: root, which tests may run as, can write everywhere.
    file = tmp_path / "file"
    file.touch()
    with (
        pytest.raises(UsageError, match=r"Cannot write to the data folder .*: give another one"),
        locked_data_folder(file / below),
    ):
        pass
