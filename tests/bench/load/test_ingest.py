"""Ingest: publishers have the topics, and show the names, that they are told to."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bench.load.ingest import IngestLoad, Publisher, topics_of
from edge.mqtt.events import ConnectReceived, PublishReceived
from edge.mqtt.packets import Connect, Publish
from edge.mqtt.server import ServerConnection, ServerLimits
from edge.mqtt.states import State

LOAD = IngestLoad("127.0.0.1", 0, 1.0, window=20, payload=8)


def test_one_topic_is_a_devices_own_and_more_stand_below_it() -> None:
    assert topics_of(LOAD, 3) == ["bench/ingest/3"]
    assert topics_of(replace(LOAD, topics=2), 3) == ["bench/ingest/3/0", "bench/ingest/3/1"]


async def test_a_publisher_fills_its_window_with_its_topics_and_goes_on_when_half_is_acknowledged() -> None:
    connects: list[Connect] = []
    publishes: list[Publish] = []
    is_all_there = asyncio.Event()
    wanted = [60]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = ServerConnection(ServerLimits())
        while data := await reader.read(1_000):
            server.receive_data(data, 0.0)
            for event in server.events_received():
                if isinstance(event, ConnectReceived):
                    connects.append(event.packet)
                    server.accept()
                elif isinstance(event, PublishReceived):
                    publishes.append(event.packet)
                    server.confirm_publish(event.packet.packet_id)
            assert server.state is State.CONNECTED
            writer.write(b"".join(server.data_to_send()))
            if len(publishes) >= wanted[0]:
                is_all_there.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        load = replace(LOAD, port=port, topics=4, user_name="u", password="p")
        publisher = Publisher(load, 0)
        await publisher.start(load, 0)
        publisher.begin()
        await asyncio.wait_for(is_all_there.wait(), 60)
        publisher.stop()
        await asyncio.wait_for(publisher.settle(), 60)
        assert publisher.acknowledged == len(publishes)
        is_all_there.clear()
        wanted[0] = len(publishes) + 60
        publisher.begin()
        await asyncio.wait_for(is_all_there.wait(), 60)
        publisher.stop()
        await asyncio.wait_for(publisher.settle(), 60)
        publisher.close()
    assert publisher.acknowledged == len(publishes)
    assert (connects[0].user_name, connects[0].password) == ("u", b"p")
    assert {packet.topic for packet in publishes} == set(topics_of(load, 0))
    assert {packet.packet_id for packet in publishes} == set(range(1, 21))
