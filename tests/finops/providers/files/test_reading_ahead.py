"""Reading ahead changes neither the order nor the errors, and leaves no thread behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from finops.providers.files.ahead import ahead


def threads() -> int:
    return sum(thread.name == "read-ahead" for thread in threading.enumerate())


def test_the_items_come_in_order_and_the_error_at_its_place() -> None:
    def items() -> Iterator[int]:
        yield from range(100)
        raise OSError("the disk is gone")

    found: list[int] = []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(ahead(items(), 2))
    assert found == list(range(100))
    assert threads() == 0


def test_giving_up_ends_the_thread_and_closes_the_source() -> None:
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            yield from range(1_000_000)
        finally:
            closed.set()

    source = ahead(items(), 2)
    assert [next(source), next(source)] == [0, 1]
    source.close()
    assert closed.is_set()
    assert threads() == 0


def test_no_items() -> None:
    assert list(ahead(iter(()), 1)) == []
    assert threads() == 0
