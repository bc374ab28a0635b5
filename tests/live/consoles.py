"""The shared stack's console, with an administrator who may log in."""

from __future__ import annotations

from admin.stack.administration import Administration
from admin.stack.embedded import Stack
from identity.database import open_database
from identity.users import Users

USER, PASSWORD = "ann", "a-long-password"


def administered(stack: Stack) -> Administration:
    """The stack's administration, as soon as it answers; `USER` is its administrator."""
    assert stack.administration is not None
    stack.wait_ready("admin", 240)
    database = open_database(stack.administration.database)
    try:
        users = Users(database)
        if USER not in {user.name for user in users.list()}:
            users.add(USER, PASSWORD)
    finally:
        database.close()
    return stack.administration
