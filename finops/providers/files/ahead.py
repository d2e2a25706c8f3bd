"""Items made in a thread of their own, a few before they are asked for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

Item = TypeVar("Item")
_DRAIN_SECONDS = 0.05


class _End:
    """The items are through; `error` is what the maker raised, to be raised at the same place."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def ahead(items: Iterator[Item], depth: int) -> Generator[Item]:
    """The same items in the same order and the same error after them; at most `depth` wait.

    Closing the generator ends the thread after the item that it is at, and closes `items` there.
    """
    waiting: queue.Queue[Item | _End] = queue.Queue(depth)
    stop = threading.Event()

    def make() -> None:
        end = _End()
        try:
            for item in items:
                waiting.put(item)
                if stop.is_set():
                    break
        except BaseException as error:  # raised again where the items are used
            end = _End(error)
        finally:
            if isinstance(items, Generator):
                items.close()
        waiting.put(end)

    maker = threading.Thread(target=make, name="read-ahead", daemon=True)
    maker.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stop.set()
        while maker.is_alive():
            # A full queue would keep the maker waiting for ever.
            try:
                waiting.get(timeout=_DRAIN_SECONDS)
            except queue.Empty:
                continue
        maker.join()
