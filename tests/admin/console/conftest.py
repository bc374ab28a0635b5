"""The console as a process of its own, on a database of the tests' own and without Kafka."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser

from admin.cli.administration import LISTENING
from identity.database import Database, open_database
from identity.roles import Role
from identity.users import Users
from tests.browser import Visitor, running_browser

PASSWORD = "a-long-password"


@dataclass(frozen=True)
class Console:
    """Where a console is, and its database."""

    url: str
    database: Database


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console that nobody can log in to yet."""
    url = f"sqlite:///{tmp_path_factory.mktemp('console')}/identity.db"
    command = [sys.executable, "-m", "admin", "admin", "--listen", "127.0.0.1:0"]
    environment = {**os.environ, "SLUICEMQ_DATABASE": url}
    database = open_database(url)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
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
            if role not in {user.name for user in users.list()}:
                users.add(role, PASSWORD, role)
            visitor.log_in(role, PASSWORD, place)
        return visitor

    yield visit
    for visitor in visitors:
        visitor.leave()
