"""Purchases as every way in shows them."""

from __future__ import annotations

from typing import Any

from apps.recommendations.models import BuyingAccount, Purchase
from apps.recommendations.services.document import decimal_text, iso


def buyer_document(row: BuyingAccount) -> dict[str, Any]:
    """An account that may buy."""
    return {
        "id": row.pk,
        "provider": row.provider,
        "account": row.account,
        "role": row.credentials,
        "active": row.active,
    }


def purchase_document(row: Purchase) -> dict[str, Any]:
    """A purchase in short; money as decimal texts in `currency`."""
    return {
        "id": row.pk,
        "state": row.state,
        "stated_at": iso(row.stated_at),
        "message": row.message,
        "account": row.buyer.account,
        "provider": row.buyer.provider,
        "region": row.region,
        "zone": row.zone or None,
        "offer": row.offer,
        "kind": row.kind,
        "type": row.instance_type,
        "platform": row.platform,
        "tenancy": row.tenancy,
        "class": row.offering_class,
        "payment": row.payment,
        "hours_left": decimal_text(row.hours),
        "quantity": row.quantity,
        "limit": decimal_text(row.limit),
        "hourly": decimal_text(row.hourly),
        "committed": decimal_text(row.committed),
        "currency": row.currency,
        "filled": row.filled,
        "offer_seen_at": iso(row.offer_seen_at),
        "recommendation": row.recommendation_id,
        "reason": row.reason,
        "requested_by": row.requested_by,
        "requested_at": iso(row.requested_at),
        "valid_until": iso(row.valid_until),
        "approvals_needed": row.approvals_needed,
        "reservations": row.reservations,
        "paid": None if row.paid is None else decimal_text(row.paid),
        "dry_run": row.trial,
    }


def purchase_detail(row: Purchase) -> dict[str, Any]:
    """A purchase with its approvals and every order that was sent."""
    return {
        **purchase_document(row),
        "approvals": [
            {"by": one.user.email, "role": one.role, "at": iso(one.at)} for one in row.approvals.all()
        ],
        "attempts": [
            {
                "number": one.number,
                "at": iso(one.at),
                "parameters": one.parameters,
                "outcome": one.outcome,
                "message": one.message,
                "reservations": one.reservations,
                "looks": one.looks,
                "looked_at": None if one.looked_at is None else iso(one.looked_at),
                "finished_at": None if one.finished_at is None else iso(one.finished_at),
            }
            for one in row.attempts.all()
        ],
    }
