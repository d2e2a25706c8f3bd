"""Purchases of commitments: what is to be bought, who said yes, each try and what came of it."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ActorKind
from apps.recommendations.models.approval import Approval
from finops.frames.offers import OfferKind


class PurchaseState(models.TextChoices):
    """Where a purchase stands. `unknown`: the order was sent and nobody knows yet whether it was filled."""

    REQUESTED = "requested", _("Waiting for approval")
    APPROVED = "approved", _("Approved")
    BUYING = "buying", _("Being bought")
    UNKNOWN = "unknown", _("Outcome not known")
    PAYING = "paying", _("Payment pending")
    BOUGHT = "bought", _("Bought")
    REFUSED = "refused", _("Refused, nothing bought")
    NOT_BOUGHT = "not_bought", _("Not found, nothing bought")
    CANCELLED = "cancelled", _("Cancelled")
    EXPIRED = "expired", _("Expired")


# Money may be on its way: no other order of the account and region until it is settled.
IN_FLIGHT = [PurchaseState.BUYING, PurchaseState.UNKNOWN]
ENDED = [
    PurchaseState.BOUGHT,
    PurchaseState.REFUSED,
    PurchaseState.NOT_BOUGHT,
    PurchaseState.CANCELLED,
    PurchaseState.EXPIRED,
]


class AttemptOutcome(models.TextChoices):
    """What came of one order that was sent."""

    SENT = "sent", _("Sent")
    DONE = "done", _("Carried out")
    REFUSED = "refused", _("Refused")
    UNKNOWN = "unknown", _("No clear answer")
    FOUND = "found", _("Found to be carried out")
    NOTHING = "nothing", _("Found not to be carried out")


def _money() -> models.DecimalField[Decimal, Decimal]:
    return models.DecimalField(max_digits=24, decimal_places=10)


class BuyingAccount(models.Model):
    """An account that may buy, and the role that has the right to: one of its own, with nothing else.

    `active` is the freeze switch: without it nothing of the account is bought, approved or not.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="buying_accounts"
    )
    provider = models.CharField(_("provider"), max_length=20)
    account = models.CharField(_("account"), max_length=64)
    credentials = models.CharField(_("role"), max_length=200, blank=True)
    external_id = models.CharField(_("external id"), max_length=1224, blank=True)
    active = models.BooleanField(_("may buy"), default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["provider", "account"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "account"], name="buying_account_once"),
            models.CheckConstraint(condition=Q(account__regex=r"^\d{12}$"), name="buying_account_has_number"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.account}"


class Purchase(models.Model):
    """An order of `quantity` of one offering, frozen as it was asked for.

    `limit` caps what the order costs at once; `hourly` is per unit, `hours` what remained of the term;
    `committed` = limit + hourly x quantity x hours is what the approvals are about. `filled`: how the order
    was expected to be filled, [{"price", "count"}]. `approvals_needed` more than one: by people of different
    roles. `valid_until`: nothing is bought later.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="purchases"
    )
    buyer = models.ForeignKey(BuyingAccount, on_delete=models.PROTECT, related_name="purchases")
    recommendation = models.ForeignKey(
        "recommendations.Recommendation",
        on_delete=models.PROTECT,
        related_name="purchases",
        null=True,
        blank=True,
    )
    offer = models.CharField(_("offer"), max_length=100)
    kind = models.CharField(
        _("kind"),
        max_length=20,
        choices=[(kind.value, kind.value) for kind in (OfferKind.SECOND_HAND, OfferKind.NEW)],
    )
    region = models.CharField(_("region"), max_length=40)
    zone = models.CharField(_("zone"), max_length=40, blank=True)
    platform = models.CharField(_("platform"), max_length=60)
    tenancy = models.CharField(_("tenancy"), max_length=20)
    instance_type = models.CharField(_("instance type"), max_length=60)
    offering_class = models.CharField(_("class"), max_length=20)
    payment = models.CharField(_("payment"), max_length=20)
    hours = models.DecimalField(_("hours left"), max_digits=12, decimal_places=4)
    quantity = models.PositiveIntegerField(_("how many"))
    filled = models.JSONField(default=list)
    limit = _money()
    hourly = _money()
    committed = _money()
    currency = models.CharField(_("currency"), max_length=3)
    offer_seen_at = models.DateTimeField()
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    requested_at = models.DateTimeField()
    requested_kind = models.CharField(max_length=6, choices=ActorKind)
    requested_id = models.BigIntegerField(null=True)
    requested_by = models.CharField(max_length=254)
    approvals_needed = models.PositiveSmallIntegerField()
    valid_until = models.DateTimeField()

    state = models.CharField(
        _("state"), max_length=10, choices=PurchaseState, default=PurchaseState.REQUESTED
    )
    stated_at = models.DateTimeField()
    message = models.CharField(max_length=1000, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(_("dry run"), null=True, blank=True)
    trial = models.JSONField(null=True, blank=True)
    reservations = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    paid = models.DecimalField(max_digits=24, decimal_places=10, null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["organisation", "state"], name="purchase_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["buyer", "region"], condition=Q(state__in=IN_FLIGHT), name="purchase_one_in_flight"
            ),
            models.CheckConstraint(condition=Q(state__in=PurchaseState.values), name="purchase_state_known"),
            models.CheckConstraint(condition=Q(quantity__gt=0), name="purchase_has_quantity"),
            models.CheckConstraint(
                condition=Q(limit__gte=0, hourly__gte=0, committed__gt=0, committed__gte=F("limit")),
                name="purchase_money_in_order",
            ),
            models.CheckConstraint(condition=Q(approvals_needed__in=[1, 2]), name="purchase_needs_approval"),
            models.CheckConstraint(
                condition=~Q(state__in=[*IN_FLIGHT]) | Q(claimed_at__isnull=False),
                name="purchase_in_flight_since",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["paying", "bought"]) | Q(reservations__len__gt=0),
                name="purchase_bought_names_reservations",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.instance_type} {self.offer}: {self.state}"


class PurchaseApproval(Approval):
    """One person's yes, in the role they had. A second one is another person in another role."""

    purchase = models.ForeignKey(Purchase, on_delete=models.CASCADE, related_name="approvals")

    class Meta(Approval.Meta):
        constraints = [
            models.UniqueConstraint(fields=["purchase", "user"], name="purchase_approved_once_by_person"),
            models.UniqueConstraint(fields=["purchase", "role"], name="purchase_approved_once_by_role"),
        ]

    def __str__(self) -> str:
        return f"{self.purchase_id}: {self.role}"


class PurchaseAttempt(models.Model):
    """One order that was sent, stored before it was sent.

    `parameters` are those of the call; `held_before` the ids of all reservations of the region just before,
    so that what came of the order can be told from what was there. `looks`: how often it was looked up.
    """

    purchase = models.ForeignKey(Purchase, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    at = models.DateTimeField()
    parameters = models.JSONField()
    held_before = ArrayField(models.CharField(max_length=100), default=list)
    outcome = models.CharField(max_length=8, choices=AttemptOutcome, default=AttemptOutcome.SENT)
    message = models.CharField(max_length=1000, blank=True)
    reservations = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    looks = models.PositiveSmallIntegerField(default=0)
    looked_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["purchase", "number"]
        constraints = [
            models.UniqueConstraint(fields=["purchase", "number"], name="purchase_attempt_number_once"),
            models.CheckConstraint(
                condition=Q(outcome__in=AttemptOutcome.values), name="purchase_attempt_outcome_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purchase_id} try {self.number}: {self.outcome}"
