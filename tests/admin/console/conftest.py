"""The console as a process of its own, on a database of the tests' own and over a cluster that is played."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from admin.cli.administration import LISTENING
from identity.database import Database, open_database
from identity.roles import Role
from identity.users import Users
from tests.browser import Visitor, running_browser

PASSWORD = "a-long-password"
ROOT = Path(__file__).parents[3]
# Installed packages may bring a `tests` of their own, which would stand before a folder without __init__.py.
_SERVE = """
import sys, types
tests = sys.modules["tests"] = types.ModuleType("tests")
tests.__path__ = [sys.argv[1]]
from tests.admin.console.played import main
main(*sys.argv[2:])
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """For `make screenshots`."""
    parser.addoption("--write-screenshots", metavar="DIR", help="keep pictures of the console's pages there")


@dataclass(frozen=True)
class Console:
    """Where a console is, and its database."""

    url: str
    database: Database


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console that nobody can log in to yet, over a cluster that is played."""
    folder = tmp_path_factory.mktemp("console")
    url = f"sqlite:///{folder}/identity.db"
    command = [sys.executable, "-c", _SERVE, str(ROOT / "tests"), url, f"sqlite:///{folder}/statistics.db"]
    database = open_database(url)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            mark, _, where = process.stdout.readline().partition(" ")
            assert mark == LISTENING
            yield Console(json.loads(where)["http"], database)
        finally:
            process.terminate()
            process.wait(60)
            database.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of a module."""
    with running_browser() as browser:
        yield browser


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(browser: Browser, console: Console) -> Iterator[Visit]:
    """Opens the console in a browser's window, as somebody with a role or, with None, as nobody."""
    visitors: list[Visitor] = []

    def visit(
        role: Role | None = Role.ADMINISTRATOR, place: str = "/", *, narrow: bool = False, dark: bool = False
    ) -> Visitor:
        visitor = Visitor(browser, console.url, narrow=narrow, dark=dark)
        visitors.append(visitor)
        if role is not None:
            users = Users(console.database)
            for needed in (Role.ADMINISTRATOR, role):  # there is always one
                if needed not in {user.name for user in users.list()}:
                    users.add(needed, PASSWORD, needed)
            visitor.log_in(role, PASSWORD, place)
        return visitor

    yield visit
    for visitor in visitors:
        visitor.leave()
