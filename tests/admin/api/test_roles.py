"""What each role may do, on each route that there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from admin.api.app import PREFIX, create_app
from admin.api.services import Services
from identity.roles import Role
from tests.admin.api.conftest import LogIn

OPEN = {("POST", "/session"), ("GET", "/session/first-run")}
"""For whoever comes."""
EVERYBODYS = {
    ("DELETE", "/session"), ("PUT", "/password"), ("POST", "/tokens"), ("DELETE", "/tokens/{user}/{name}"),
    ("POST", "/authorization-test"), ("POST", "/route-test"),
}  # fmt: skip
"""Not reading, and yet a viewer's."""
ADMINISTRATORS = {
    ("GET", "/users"), ("POST", "/users"), ("PATCH", "/users/{name}"), ("DELETE", "/users/{name}"),
    ("PUT", "/authentication/order"), ("DELETE", "/authentication/order"),
    ("PUT", "/authentication/providers/{name}"), ("DELETE", "/authentication/providers/{name}"),
}  # fmt: skip


def routes(services: Services) -> Iterator[tuple[str, str]]:
    """(method, path) of each route of the API."""
    schema = create_app(services).openapi()
    for path, methods in schema["paths"].items():
        if path.startswith(PREFIX):
            for method in methods:
                yield method.upper(), path.removeprefix(PREFIX)


def needed(method: str, path: str) -> Role:
    """The least role for a route."""
    if (method, path) in ADMINISTRATORS:
        return Role.ADMINISTRATOR
    return Role.VIEWER if method == "GET" or (method, path) in EVERYBODYS else Role.OPERATOR


@pytest.mark.parametrize("role", Role)
def test_each_role_on_each_route(role: Role, log_in: LogIn, services: Services) -> None:
    browser = log_in(role)
    seen = 0
    for method, path in routes(services):
        if (method, path) in OPEN or (method, path) == ("DELETE", "/session"):
            continue
        # Without a body: what is let in fails at that, or at a name that is not there.
        answer = browser.request(
            method, path.replace("{name}", "nobody").replace("{user}", role).replace("{node}", "gw1")
        )
        assert (answer.status_code == 403) is not role.includes(needed(method, path)), (
            method,
            path,
            answer.text,
        )
        assert answer.status_code != 401
        seen += 1
    assert seen > 30


def test_nobody_gets_in_anywhere(nobody: TestClient, services: Services) -> None:
    for method, path in routes(services):
        if (method, path) not in OPEN:
            assert nobody.request(method, path).status_code == 401, (method, path)


def test_every_exception_is_a_route(services: Services) -> None:
    assert set(routes(services)) >= OPEN | EVERYBODYS | ADMINISTRATORS
