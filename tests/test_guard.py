"""The guard of conftest.py itself: it sees what the code under test hides."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

import pytest


def test_the_guard_refuses_a_connection_that_leaves_the_machine(forbidden: list[str]) -> None:
    with socket.socket() as plug, pytest.raises(PermissionError, match="no network"):
        plug.connect(("192.0.2.1", 80))
    assert forbidden
    forbidden.clear()


def test_the_guard_refuses_to_resolve_a_foreign_name_even_when_the_error_is_hidden(forbidden: list[str]) -> None:
    with suppress(Exception):
        socket.getaddrinfo("model.example", 443)
    assert "model.example" in forbidden[0]
    forbidden.clear()


def test_the_guard_sees_a_datagram(forbidden: list[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug, suppress(PermissionError):
        plug.sendto(b"x", ("192.0.2.1", 53))
    assert forbidden
    forbidden.clear()


def test_loopback_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    assert socket.getaddrinfo("localhost", 80)


def test_the_guard_sees_a_key_being_read(forbidden: list[str]) -> None:
    assert os.environ.get("OPENAI_API_KEY") is None
    assert os.getenv("OPENAI_API_KEY") is None
    assert "OPENAI_API_KEY" not in os.environ
    assert forbidden == ["read OPENAI_API_KEY"] * 3
    forbidden.clear()


def test_copying_the_environment_reads_no_key() -> None:
    assert "OPENAI_API_KEY" not in dict(os.environ)


def test_a_fake_key_can_be_asked_for(fake_key: str) -> None:
    assert os.environ["OPENAI_API_KEY"] == fake_key
