"""The API on a database of its own, called as a client calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from admin.api.app import PREFIX, create_app
from admin.api.caller import CSRF_HEADER
from admin.api.services import Services
from admin.cluster.sinks import SinkUrls
from identity.database import open_database
from identity.roles import Role
from tests.admin.api.cluster import PlayedCluster
from tests.admin.cluster.house import PlayedParts

PASSWORD = "a-long-password"

LogIn = Callable[[Role], TestClient]


@pytest.fixture
def cluster() -> PlayedCluster:
    """Nobody is there yet."""
    return PlayedCluster()


@pytest.fixture
def services(tmp_path: Path, cluster: PlayedCluster) -> Iterator[Services]:
    """Empty."""
    database = open_database(f"sqlite:///{tmp_path}/identity.db")
    yield Services(database, clients=cluster.services)
    database.close()


@pytest.fixture
def played(services: Services, tmp_path: Path) -> Iterator[PlayedParts]:
    """A cluster whose parts say what the test wants; the API knows it."""
    played = PlayedParts(SinkUrls(statistics=f"sqlite:///{tmp_path}/statistics.db"))
    services.cluster = played.cluster
    yield played
    played.cluster.close()


@pytest.fixture
def nobody(services: Services) -> TestClient:
    """Not logged in."""
    return TestClient(create_app(services), base_url=f"http://testserver{PREFIX}")


@pytest.fixture
def log_in(services: Services) -> LogIn:
    """Logs in as a user with some role, whose name is the role's, in a browser."""
    services.users.add("first", PASSWORD)

    def log_in(role: Role) -> TestClient:
        services.users.add(role, PASSWORD, role)
        client = TestClient(create_app(services), base_url=f"http://testserver{PREFIX}")
        answer = client.post("/session", json={"name": role, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        client.headers[CSRF_HEADER] = answer.json()["csrf_token"]
        return client

    return log_in


@pytest.fixture
def admin(log_in: LogIn) -> TestClient:
    """Logged in as an administrator."""
    return log_in(Role.ADMINISTRATOR)
