"""The invoice's total beside a delivery: whether cash equals it, and what the difference is."""

from __future__ import annotations

from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.billing.models import Delivery, DeliveryState
from apps.billing.services.expected import expected_total_set
from apps.ingest.bills.totals import as_text
from finops.engine.reconciliation import reconcile


def invoice_total_set(
    *, delivery: Delivery, organisation: Organisation, actor: Actor, amount: Decimal, currency: str
) -> Delivery:
    """Compare a current delivery's cash with the invoice, in the places in which the amount is written.

    The total is kept for the month, so that a restated bill is compared with it too. Amounts of other
    currencies that were given before stay. Raises ValidationError by field.
    """
    with transaction.atomic():
        found = Delivery.objects.select_for_update(of=("self",)).select_related("report").get(pk=delivery.pk)
        if found.state != DeliveryState.CURRENT:
            raise ValidationError({"amount": _("A newer delivery has taken its place: reload the page.")})
        if found.stopgap:
            raise ValidationError({"amount": _("These are daily totals: wait for the first export.")})
        if currency not in found.totals:
            raise ValidationError(
                {
                    "currency": _("The delivery has no amounts in it. It has: %(known)s.")
                    % {"known": ", ".join(sorted(found.totals)) or "-"}
                }
            )
        before = {"expected": found.expected, "reconciled": found.reconciled}
        expected = {code: Decimal(text) for code, text in (found.expected or {}).items()}
        expected[currency] = amount
        billed = {
            code: None if sums["billed"] is None else Decimal(sums["billed"])
            for code, sums in found.totals.items()
        }
        found.reconciled, difference = reconcile(billed, expected)
        found.expected = {code: format(wanted, "f") for code, wanted in expected.items()}
        found.difference = as_text(difference)
        found.save(update_fields=["expected", "reconciled", "difference"])
        expected_total_set(
            organisation=organisation,
            actor=actor,
            billing_period=found.billing_period,
            payer=found.report.payer,
            report=found.report.name,
            currency=currency,
            total=amount,
            source=_("entered beside the delivery"),
        )
        audit_record(
            organisation=organisation,
            actor=actor,
            action="delivery.reconcile",
            target=found,
            before=before,
            after={
                "expected": found.expected,
                "reconciled": found.reconciled,
                "difference": found.difference,
            },
        )
    return found
