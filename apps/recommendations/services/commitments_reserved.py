"""Reservations that are owned, as the engine reads them."""

from __future__ import annotations

from apps.billing.selectors.commitments import Standing
from finops.engine.commitments.refusal import Refusal, refuse
from finops.frames.commitments import Reserved
from finops.frames.offers import OfferingClass, OfferKey


def reserved_of(one: Standing) -> Reserved | Refusal:
    """The reservation of a standing, or what is not known of it."""
    values = one.values
    for name in ("end", "start", "instance_type", "region", "platform", "count", "currency"):
        if values[name] is None:
            return refuse("not told", what=name)
    raw = values["offering_class"]
    known = {c.value: c for c in OfferingClass}
    key = OfferKey(
        one.provider, values["region"], values["zone"] or "", values["platform"],
        values["tenancy"] or "default", values["instance_type"],
    )  # fmt: skip
    return Reserved(
        id=one.id, account=values["account"] or "", key=key,
        offering_class=known.get(raw or "", OfferingClass.UNKNOWN), count=values["count"],
        start=values["start"], end=values["end"], fixed=values["fixed"], hourly=values["hourly"],
        currency=values["currency"], state=one.state, payment=values["payment"] or "",
        listing=one.listing,
    )  # fmt: skip
