"""The demo's bill: daily sums of a real one, carried over into a FOCUS file of our own."""

from __future__ import annotations

from finops.providers.focus.bills import Focus


class DemoBill(Focus):
    """Read as FOCUS, never recognised by itself; it makes way for a bill of the same account and month."""

    name = "demo"
    title = "Demo bill"
    gives_way = True
