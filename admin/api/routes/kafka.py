"""Kafka topics, and who reads them."""

from __future__ import annotations

from fastapi import APIRouter

from admin.api.caller import Viewer
from admin.api.needs import NeedsCluster
from admin.api.paging import Limit, Offset, Page, Search
from admin.cluster.readers import Reader
from admin.cluster.topic_list import TopicInfo

router = APIRouter(prefix="/kafka", tags=["Kafka"])


@router.get("/topics")
def list_topics(
    _: Viewer, cluster: NeedsCluster, search: Search = "", offset: Offset = 0, limit: Limit = 100
) -> Page[TopicInfo]:
    """List Kafka topics, those that are missing too, with what about them is not as it must be."""
    nodes = cluster.nodes
    names = cluster.topics.names(nodes, search)
    shown = names[offset : offset + limit]
    return Page(total=len(names), items=cluster.topics.describe(shown, nodes))


@router.get("/groups")
def list_groups(
    _: Viewer, cluster: NeedsCluster, search: Search = "", offset: Offset = 0, limit: Limit = 100
) -> Page[Reader]:
    """List who reads Kafka topics, and how far behind: the router, sinks, and consumer groups."""
    names = cluster.readers.names(search)
    shown = names[offset : offset + limit]
    return Page(total=len(names), items=cluster.readers.describe(shown))
