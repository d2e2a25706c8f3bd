"""Where a finance person stands on the way from nothing to the first reconciled month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import Membership
from apps.accounts.roles import Action, allowed
from apps.billing.models import Delivery
from apps.dashboard import format as fmt
from apps.dashboard.tabs import Tab
from apps.ingest.models import Feed, FeedDelivery, FetchState
from finops.providers.aws import cost_explorer
from finops.reasons import reason_text

DONE, NEXT, LATER, FAILED = "done", "next", "later", "failed"


@dataclass(frozen=True)
class Step:
    """One step: its state and what is known or still missing."""

    title: str
    state: str
    note: str
    anchor: str = ""


def tabs(membership: Membership | None) -> list[Tab]:
    """Pages under Data; negotiated rates only for who may see them."""
    pages = [
        Tab("data", _("Data")),
        Tab("bills-connect", _("Connect a bill")),
        Tab("storage-files", _("Storage files")),
        Tab("account-names", _("Account names")),
        Tab("negotiated-rates", _("Negotiated rates")),
        Tab("exchange-rates", _("Exchange rates")),
    ]
    if not allowed(membership, Action.MANAGE_BUDGETS):
        pages = [tab for tab in pages if tab.page != "negotiated-rates"]
    return pages


def steps_of(
    feeds: Sequence[Feed], seen: Sequence[FeedDelivery], current: Sequence[Delivery], names: int
) -> list[Step]:
    """The steps in order; the first one that is not done is next."""
    answered = [feed for feed in feeds if feed.last_success_at]
    failing = next((feed for feed in feeds if feed.last_error and not feed.last_success_at), None)
    loaded = [row for row in seen if row.loaded_etag]
    exports = [delivery for delivery in current if not delivery.stopgap]
    reconciled = [delivery for delivery in exports if delivery.reconciled]
    facts = [
        (
            _("Role and export in AWS"),
            bool(answered),
            _("AWS lets this service list the bucket.") if answered else _("Apply the text below in AWS."),
            "setup",
        ),
        (
            _("Feed"),
            bool(feeds),
            ", ".join(feed.name for feed in feeds) or _("Tell the service bucket and role."),
            "feed",
        ),
        (
            _("First delivery"),
            bool(loaded or exports),
            _delivery_note(seen, loaded, bool(exports)),
            "deliveries",
        ),
        (
            _("Account names"),
            bool(names),
            _("%(n)s named") % {"n": fmt.number(names)} if names else _("From AWS Organizations or a file."),
            "names",
        ),
        (
            _("First reconciled month"),
            bool(reconciled),
            f"{max(d.billing_period for d in reconciled):%Y-%m}"
            if reconciled
            else _("Enter the total of the invoice."),
            "reconcile",
        ),
    ]
    steps: list[Step] = []
    for title, done, note, anchor in facts:
        open_before = any(step.state in (NEXT, FAILED) for step in steps)
        state = DONE if done else LATER if open_before else NEXT
        if anchor == "setup" and not done and failing is not None:
            state, note = FAILED, reason_text(failing.last_error.split("\n")[0])[:240]
        steps.append(Step(title, state, note, anchor))
    return steps


def _delivery_note(seen: Sequence[FeedDelivery], loaded: Sequence[FeedDelivery], exports: bool) -> str:
    if loaded:
        months = {row.billing_period for row in loaded}
        return ngettext("%(n)s month loaded", "%(n)s months loaded", len(months)) % {"n": len(months)}
    if exports:
        return _("Loaded from files.")
    if any(row.state == FetchState.REFUSED for row in seen):
        return _("The delivery was refused: see why below.")
    if seen:
        return _("Being fetched.")
    return _("AWS writes the first one within 24 hours.")


def heading_of(steps: Sequence[Step], current: Sequence[Delivery]) -> str:
    """The first line of the page: the answer with its number."""
    months = {d.billing_period for d in current if not d.stopgap}
    sound = {d.billing_period for d in current if d.reconciled and not d.stopgap}
    if sound:
        return ngettext(
            "[[%(sound)s]] month of bills is reconciled, %(months)s loaded.",
            "[[%(sound)s]] months of bills are reconciled, %(months)s loaded.",
            len(sound),
        ) % {"sound": fmt.number(len(sound)), "months": fmt.number(len(months))}
    left = sum(step.state != DONE for step in steps)
    if left == len(steps):
        return _("No bill is connected yet: [[%(n)s]] steps to the first reconciled month.") % {"n": left}
    return ngettext(
        "[[%(n)s]] step is left to the first reconciled month.",
        "[[%(n)s]] steps are left to the first reconciled month.",
        left,
    ) % {"n": left}


def cost_of_asking(feeds: Sequence[Feed]) -> str:
    """What Cost Explorer took so far, in words; empty where it was never asked."""
    asked = sum(feed.paid_requests for feed in feeds)
    if not asked:
        return ""
    price, _day = cost_explorer.request_price()
    return ngettext(
        "Cost Explorer was asked %(n)s time: %(cost)s.",
        "Cost Explorer was asked %(n)s times: %(cost)s.",
        asked,
    ) % {"n": fmt.number(asked), "cost": fmt.money(price.amount * asked, price.currency, decimals=2)}


def verdict_of(delivery: Delivery) -> tuple[str, Any]:
    """(kind, word) of a delivery's reconciliation."""
    if delivery.stopgap:
        return "warn", _("Daily totals only")
    if delivery.reconciled is None:
        return "unknown", _("No total given")
    return ("pass", _("Reconciled")) if delivery.reconciled else ("deny", _("Differs"))


def difference_of(delivery: Delivery) -> str:
    """The difference to the invoice by currency; empty where nothing was given."""
    return ", ".join(
        fmt.money(amount, currency, decimals=2, sign=True)
        for currency, amount in (delivery.difference or {}).items()
    )


def billed_of(delivery: Delivery) -> str:
    """Cash by currency."""
    return ", ".join(
        fmt.money(sums.get("billed"), currency, decimals=2) for currency, sums in delivery.totals.items()
    )


def month_word(delivery: Delivery | FeedDelivery) -> str:
    """`2026-11`, in every language."""
    return f"{delivery.billing_period:%Y-%m}"
