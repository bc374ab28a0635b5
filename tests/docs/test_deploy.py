"""docs/deploy.md: what it tells of Spark's settings and of the files beside it is so."""

from __future__ import annotations

import re

from admin.stack.spark_submit import spark_defaults
from tests.docs.deployment.product import DEPLOY

PAGE = DEPLOY.parent / "deploy.md"


def test_every_setting_of_spark_defaults_is_explained() -> None:
    set_there = re.findall(r"^(spark\.\S+)", spark_defaults().read_text(), re.MULTILINE)
    section = PAGE.read_text().partition("## What each setting is for")[2].partition("\n## ")[0]
    explained = [
        name
        for row in re.findall(r"^\| (`.+?) \| \S", section, re.MULTILINE)
        for name in re.findall(r"`(spark\.\S+)`", row)
    ]
    assert sorted(explained) == sorted(set_there)


def test_the_page_names_each_file() -> None:
    text = PAGE.read_text()
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            assert f"deploy/{path.relative_to(DEPLOY)}" in text, path


def test_what_the_page_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGE.read_text()):
        assert (PAGE.parent / target).exists(), target
