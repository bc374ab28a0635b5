"""Who is let in to the API, and that nobody is made to send what it does not mean."""

from __future__ import annotations

from fastapi.testclient import TestClient

from admin.api.app import PREFIX, create_app
from admin.api.attempts import PER_USER
from admin.api.caller import COOKIE, CSRF_HEADER
from admin.api.problems import MEDIA_TYPE
from admin.api.services import Services
from identity.roles import Role
from tests.admin.api.conftest import PASSWORD, LogIn


def test_a_fresh_install_lets_nobody_in_and_says_how_to_begin(nobody: TestClient) -> None:
    for password in ("", "admin", "sysadmin", "public"):
        answer = nobody.post("/session", json={"name": "admin", "password": password})
        assert answer.status_code == 401
        assert answer.headers["content-type"] == MEDIA_TYPE
        assert "sluicemq users add" in answer.json()["detail"]


def test_login_and_logout(log_in: LogIn, services: Services) -> None:
    browser = log_in(Role.VIEWER)
    shown = browser.get("/session").json()
    assert (shown["user"], shown["role"]) == ("viewer", "viewer")
    token = browser.cookies[COOKIE]
    assert browser.delete("/session").status_code == 204
    assert services.logins.find(token) is None
    assert browser.get("/session").status_code == 401


def test_the_cookie_is_the_browsers_alone(log_in: LogIn) -> None:
    browser = log_in(Role.VIEWER)
    answer = browser.post("/session", json={"name": "viewer", "password": PASSWORD})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert PASSWORD not in answer.text


def test_what_another_site_makes_a_browser_send_is_refused(log_in: LogIn) -> None:
    browser = log_in(Role.OPERATOR)
    block = {"subject": "client-id", "value": "c"}
    right = browser.headers.pop(CSRF_HEADER)
    for token in (None, b"", b"wrong", right[:-1].encode(), "é".encode()):
        headers = {} if token is None else {CSRF_HEADER.encode(): token}
        answer = browser.post("/blocked", json=block, headers=headers)
        assert answer.status_code == 403
        assert CSRF_HEADER in answer.json()["detail"]
    assert browser.post("/blocked", json=block, headers={CSRF_HEADER: right}).status_code == 201


def test_a_programs_token(log_in: LogIn, services: Services) -> None:
    browser = log_in(Role.OPERATOR)
    token = browser.post("/tokens", json={"name": "script"}).json()["token"]
    program = TestClient(
        create_app(services), base_url=f"http://x{PREFIX}", headers={"Authorization": f"Bearer {token}"}
    )
    assert program.post("/blocked", json={"subject": "client-id", "value": "c"}).status_code == 201
    # It is for a program's work, and cannot make itself a longer life.
    assert program.post("/tokens", json={"name": "another"}).status_code == 403
    assert program.put("/password", json={"old": PASSWORD, "new": "another-password"}).status_code == 403
    assert browser.delete("/tokens/operator/script").status_code == 204
    assert program.get("/blocked").status_code == 401
    for nonsense in ("Bearer", "Bearer ", "Bearer x", "Basic eDp5", ""):
        assert program.get("/blocked", headers={"Authorization": nonsense}).status_code == 401


def test_too_many_wrong_passwords(log_in: LogIn) -> None:
    browser = log_in(Role.VIEWER)
    for _ in range(PER_USER.amount):
        wrong = browser.post("/session", json={"name": "viewer", "password": "wrong-password"})
        assert wrong.status_code == 401
    answer = browser.post("/session", json={"name": "viewer", "password": PASSWORD})
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert browser.post("/session", json={"name": "first", "password": PASSWORD}).status_code == 200


def test_ones_own_password(log_in: LogIn) -> None:
    browser = log_in(Role.VIEWER)
    assert browser.put("/password", json={"old": "wrong-password", "new": "another-one"}).status_code == 403
    assert browser.put("/password", json={"old": PASSWORD, "new": "short"}).status_code == 422
    assert browser.put("/password", json={"old": PASSWORD, "new": "another-one"}).status_code == 204
    assert browser.get("/session").status_code == 401
    assert browser.post("/session", json={"name": "viewer", "password": "another-one"}).status_code == 200


def test_a_problem_never_shows_what_was_sent(log_in: LogIn) -> None:
    answer = log_in(Role.ADMINISTRATOR).post(
        "/users", json={"name": ["x"], "role": "king", "password": "hunter2-hunter2"}
    )
    assert answer.status_code == 422
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert {error["where"] for error in answer.json()["errors"]} == {"name", "role"}
    assert "hunter2" not in answer.text


def test_the_first_run_is_told(nobody: TestClient, services: Services) -> None:
    assert nobody.get("/session/first-run").json() == {"needs_user": True}
    services.users.add("first", PASSWORD)
    assert nobody.get("/session/first-run").json() == {"needs_user": False}
