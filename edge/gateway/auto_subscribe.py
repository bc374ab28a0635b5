"""Rules by which clients are subscribed without asking; pure.

A rule's filter may name the client: `${clientid}`, `${username}`. What stands there must stay within its level, so a
client whose id is `#` or `a/b`, or which has no user name, is not subscribed by such a rule.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from contracts.errors import TopicError
from contracts.shared_record import is_group
from contracts.topics import stays_within_level, validate_filter
from edge.mqtt.packets import Subscription

log = logging.getLogger(__name__)

_CLIENT_ID, _USER_NAME = "${clientid}", "${username}"


class AutoSubscription(BaseModel):
    """One rule; `packets.Subscription` says what its fields mean."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    filter: str
    """The topic filter, possibly with placeholders."""
    qos: Annotated[int, Field(ge=0, le=2)] = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: Annotated[int, Field(ge=0, le=2)] = 0

    @model_validator(mode="after")
    def _is_valid(self) -> Self:
        filter = self.filter.replace(_CLIENT_ID, "x").replace(_USER_NAME, "x")
        if "${" in filter:
            raise ValueError(
                f"filter {self.filter!r}: the only placeholders are {_CLIENT_ID} and {_USER_NAME}"
            )
        validate_filter(filter)
        if self.no_local and is_group(filter):
            raise ValueError(f"filter {self.filter!r} is shared: leave no_local out")  # [MQTT-3.8.3-4]
        return self

    def subscription(self, client_id: str, user_name: str | None) -> Subscription | None:
        """What a client is subscribed to by this rule; None when the rule is not for it."""
        for placeholder, value in ((_CLIENT_ID, client_id), (_USER_NAME, user_name)):
            if placeholder in self.filter and not stays_within_level(value or ""):
                return None
        # Each once, and not again what a value brings: a client id may well be "${username}".
        filter = (user_name or "").join(
            part.replace(_CLIENT_ID, client_id) for part in self.filter.split(_USER_NAME)
        )
        try:
            validate_filter(filter)
        except TopicError:
            return None  # too long
        return Subscription(filter, self.qos, self.no_local, self.retain_as_published, self.retain_handling)


def parse_rules(text: str) -> Any:
    """The rules of a setting, not yet validated.

    Raises:
        ValueError: It is not a JSON list.
    """
    try:
        rules = json.loads(text or "[]")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f'this is not JSON ({error}): write a list such as [{{"filter": "to/${{clientid}}", "qos": 1}}]'
        ) from None
    if not isinstance(rules, list):
        raise ValueError("write a JSON list of rules, even for a single one")
    return rules


def subscriptions_for(
    rules: Sequence[AutoSubscription], client_id: str, user_name: str | None
) -> Iterator[Subscription]:
    """What a client is subscribed to; a rule that is not for it is logged."""
    for rule in rules:
        wanted = rule.subscription(client_id, user_name)
        if wanted is not None:
            yield wanted
        else:
            log.warning(
                "client %r (user %r) is not subscribed to %s: that would not stay within a level",
                client_id[:80], (user_name or "")[:80], rule.filter, extra={"client": client_id},
            )  # fmt: skip
