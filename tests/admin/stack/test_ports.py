"""A port in use is found before anything is started."""

from __future__ import annotations

import socket

import pytest

from admin.errors import UsageError
from admin.stack.ports import LOOPBACK, free_ports, require_free


def test_free_ports_differ_and_can_be_listened_on() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        require_free(LOOPBACK, port)


def test_port_in_use() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(UsageError, match=f"Port {port} on 127.0.0.1 is in use"):
            require_free(LOOPBACK, port)
    require_free(LOOPBACK, port)


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", 65536), ("192.0.2.1", 1883), ("no.such.host.invalid", 1883)]
)
def test_addresses_that_cannot_be_listened_on(host: str, port: int) -> None:
    with pytest.raises(UsageError, match="give"):
        require_free(host, port)
