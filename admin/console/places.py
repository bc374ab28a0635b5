"""The console's places: what stands in its navigation, in which order."""

from __future__ import annotations

from dataclasses import dataclass

from identity.roles import Role


@dataclass(frozen=True)
class Place:
    """A page that the navigation leads to."""

    path: str
    title: str
    role: Role = Role.VIEWER
    """Who sees it."""


PLACES: tuple[tuple[str, tuple[Place, ...]], ...] = (
    ("", (Place("/", "Overview"), Place("/history", "History"))),
    (
        "Clients",
        (
            Place("/clients", "Clients"),
            Place("/subscriptions", "Subscriptions"),
            Place("/shared-subscriptions", "Shared subscriptions"),
            Place("/retained", "Retained messages"),
        ),
    ),
    (
        "Try",
        (
            Place("/mqtt-client", "MQTT client"),
            Place("/publish", "Publish"),
            Place("/route-test", "Route test"),
        ),
    ),
    (
        "Access",
        (
            Place("/credentials", "Credentials"),
            Place("/providers", "Authentication"),
            Place("/authorization", "Authorization test"),
            Place("/blocked", "Blocked clients"),
            Place("/unauthorized", "Unauthorized clients"),
        ),
    ),
    (
        "Cluster",
        (
            Place("/nodes", "Nodes"),
            Place("/router", "Router"),
            Place("/kafka-topics", "Kafka topics"),
            Place("/kafka-groups", "Consumer groups"),
        ),
    ),
    (
        "Administration",
        (
            Place("/users", "Users", Role.ADMINISTRATOR),
            Place("/tokens", "Tokens"),
        ),
    ),
)
