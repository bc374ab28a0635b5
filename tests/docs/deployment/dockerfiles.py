"""What the image descriptions say, for tests; that Docker can read them, hadolint says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.deployment.product import DEPLOY

IMAGES = {path.stem: path for path in sorted((DEPLOY / "images").glob("*.Dockerfile"))}
"""The descriptions by the images' names, without `sluicemq-`."""


@dataclass
class Image:
    """The last stage of a description, which is what the image is."""

    user: str = "0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    ports: list[int] = field(default_factory=list)


def instructions(path: Path) -> list[tuple[str, str]]:
    """Each instruction and what stands behind it, on one line."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in joined.splitlines() if line]


def read_image(name: str) -> Image:
    """The image of that name."""
    image = Image()
    for instruction, rest in instructions(IMAGES[name]):
        match instruction:
            case "FROM":
                image = Image()
            case "USER":
                image.user = rest
            case "ENTRYPOINT":
                image.entrypoint = json.loads(rest)
            case "CMD":
                image.command = json.loads(rest)
            case "HEALTHCHECK":
                image.healthcheck = json.loads(rest.partition("CMD ")[2])
            case "ENV":
                image.environment |= dict(pair.split("=", 1) for pair in rest.split())
            case "EXPOSE":
                image.ports = [int(port) for port in rest.split()]
    return image
