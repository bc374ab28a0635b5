"""What the database chooses about authentication providers; nothing is stored that a gateway could not build."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from identity.database import Database, Group
from identity.errors import NotThereError
from identity.models import AuthenticationRow
from identity.provider_choices import (
    ProviderChoices,
    check_choices,
    check_settings,
    provider_settings,
    secrets_of,
)
from identity.stored_credentials import StoredCredentials

_ORDER = "order"


class StoredProviders:
    """The choices of a database.

    Blocking: call it in a thread. Every method raises `DatabaseUnavailableError` where the database does not answer.
    """

    def __init__(self, database: Database) -> None:
        """Of this database."""
        self._database = database
        self._lookup = StoredCredentials(database)

    def choices(self) -> ProviderChoices:
        """All that is chosen."""
        with self._database.reading() as session:
            return _read(session)

    def put_order(self, names: Sequence[str] | None) -> ProviderChoices:
        """Choose the enabled providers and their order; None: choose nothing, so that the environment alone counts.

        Raises:
            InvalidError: One of them cannot work with the settings that are stored.
            NotThereError: There is no such provider.
        """
        order = None if names is None else tuple(names)
        return self._change(lambda before: ProviderChoices(order, before.settings))

    def put_settings(self, name: str, values: Mapping[str, Any]) -> ProviderChoices:
        """Choose the settings of a provider instead of those that are stored.

        Args:
            name: The provider.
            values: By name, as JSON has them. A secret that is left out stays; one that is None goes.

        Raises:
            InvalidError: They cannot be.
            NotThereError: There is no such provider.
        """
        check_settings(name, values)

        def changed(before: ProviderChoices) -> ProviderChoices:
            kept = {secret: before.of(name)[secret] for secret in secrets_of(name) & before.of(name).keys()}
            chosen = {setting: value for setting, value in (kept | dict(values)).items() if value is not None}
            return ProviderChoices(before.order, {**before.settings, name: chosen})

        return self._change(changed, name)

    def remove_settings(self, name: str) -> ProviderChoices:
        """Forget the settings of a provider.

        Raises:
            InvalidError: It is enabled, and cannot work without them.
            NotThereError: There are none.
        """
        provider_settings(name)

        def changed(before: ProviderChoices) -> ProviderChoices:
            if name not in before.settings:
                raise NotThereError(f"no settings of {name} are stored")
            rest = {each: values for each, values in before.settings.items() if each != name}
            return ProviderChoices(before.order, rest)

        return self._change(changed)

    def _change(self, change: Callable[[ProviderChoices], ProviderChoices], *also: str) -> ProviderChoices:
        with self._database.changing(Group.AUTHENTICATION) as (session, _):
            choices = change(_read(session))
            check_choices(choices, self._lookup, also)
            session.execute(delete(AuthenticationRow))
            parts: dict[str, Any] = {name: dict(values) for name, values in choices.settings.items()}
            if choices.order is not None:
                parts[_ORDER] = list(choices.order)
            session.add_all(
                AuthenticationRow(part=part, value=json.dumps(value)) for part, value in parts.items()
            )
        return choices


def _read(session: Session) -> ProviderChoices:
    parts = {row.part: json.loads(row.value) for row in session.scalars(select(AuthenticationRow))}
    order = parts.pop(_ORDER, None)
    return ProviderChoices(None if order is None else tuple(order), parts)
