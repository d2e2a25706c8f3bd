"""Commitments that are owned, as the provider's interface shows them: what they are, when they were seen,
what changed, and the alerts before they end. What they were used for is in the lines of bills.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from finops.frames.commitments import CommitmentKind
from finops.frames.owned import STATES


class OwnedCommitment(models.Model):
    """A commitment by its provider's short id; the fields are those of `finops.frames.owned.Owned`.

    `organisation` null: of the whole installation (the command line). Money of reservations is per
    reservation, of savings plans of the whole plan. `gone_at`: a complete look of its account and region no
    longer showed it. `source` is what showed it last. `listing`: the state of its listing on the marketplace
    as the look at `listing_at` showed it, empty: no look did.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="commitments", null=True, blank=True
    )
    provider = models.CharField(_("provider"), max_length=20)
    commitment = models.CharField(_("id"), max_length=100)
    kind = models.CharField(
        _("kind"), max_length=20, choices=[(kind.value, kind.value) for kind in CommitmentKind]
    )
    account = models.CharField(_("account"), max_length=64, blank=True)
    region = models.CharField(_("region"), max_length=40, blank=True)
    zone = models.CharField(_("zone"), max_length=40, blank=True)
    platform = models.CharField(_("platform"), max_length=60, blank=True)
    tenancy = models.CharField(_("tenancy"), max_length=20, blank=True)
    instance_type = models.CharField(_("instance type"), max_length=60, blank=True)
    plan = models.CharField(_("plan"), max_length=20, blank=True)
    family = models.CharField(_("family"), max_length=60, blank=True)
    offering_class = models.CharField(_("class"), max_length=20, blank=True)
    payment = models.CharField(_("payment"), max_length=20, blank=True)
    count = models.PositiveIntegerField(_("how many"), null=True, blank=True)
    commitment_per_hour = models.DecimalField(
        _("committed an hour"), max_digits=18, decimal_places=10, null=True, blank=True
    )
    fixed = models.DecimalField(_("paid once"), max_digits=18, decimal_places=6, null=True, blank=True)
    hourly = models.DecimalField(_("paid hourly"), max_digits=18, decimal_places=10, null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3)
    start = models.DateTimeField(_("start"))
    end = models.DateTimeField(_("end"))
    state = models.CharField(_("state"), max_length=20)
    first_seen_at = models.DateTimeField(_("first seen"))
    seen_at = models.DateTimeField(_("last seen"))
    gone_at = models.DateTimeField(_("gone"), null=True, blank=True)
    source = models.CharField(_("source"), max_length=1000)
    listing = models.CharField(_("listing"), max_length=20, blank=True)
    listing_at = models.DateTimeField(_("listing seen"), null=True, blank=True)

    class Meta:
        ordering = ["end", "commitment"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "provider", "commitment"],
                name="owned_commitment_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="owned_commitment_term_in_order"),
            models.CheckConstraint(
                condition=Q(seen_at__gte=F("first_seen_at")), name="owned_commitment_seen_in_order"
            ),
            models.CheckConstraint(
                condition=Q(state__in=sorted(STATES)), name="owned_commitment_state_known"
            ),
            models.CheckConstraint(
                condition=Q(kind="reserved", count__gte=1, commitment_per_hour__isnull=True)
                | Q(kind="savings-plan", count__isnull=True, commitment_per_hour__gt=0),
                name="owned_commitment_has_its_size",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.commitment} {self.instance_type or self.plan} ({self.state})"


class CommitmentChange(models.Model):
    """A field of a commitment that a later look showed differently."""

    commitment = models.ForeignKey(OwnedCommitment, on_delete=models.CASCADE, related_name="changes")
    field = models.CharField(_("field"), max_length=40)
    before = models.CharField(_("before"), max_length=200)
    after = models.CharField(_("after"), max_length=200)
    seen_at = models.DateTimeField(_("seen"))

    class Meta:
        ordering = ["-seen_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["commitment", "field", "seen_at"], name="commitment_change_once_a_look"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.field}: {self.before} -> {self.after}"


class CommitmentAlert(models.Model):
    """A commitment that ends in `days` or less: raised once for each commitment, end and threshold.

    `commitment` is the short id: commitments that only the bill shows are in it too. `monthly_on_demand`:
    what a month (730 h) of the use that it covers would cost on demand; null where no bill tells it.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="commitment_alerts"
    )
    provider = models.CharField(_("provider"), max_length=20)
    commitment = models.CharField(_("id"), max_length=100)
    what = models.CharField(_("commitment"), max_length=200)
    end = models.DateTimeField(_("end"))
    days = models.PositiveIntegerField(_("days before"))
    raised_at = models.DateTimeField(_("raised"))
    monthly_on_demand = models.DecimalField(
        _("a month on demand"), max_digits=38, decimal_places=18, null=True, blank=True
    )
    monthly_increase = models.DecimalField(
        _("more a month"), max_digits=38, decimal_places=18, null=True, blank=True
    )
    currency = models.CharField(_("currency"), max_length=10, blank=True)
    evidence = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["end", "days"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "provider", "commitment", "end", "days"],
                name="commitment_alert_once",
            ),
            models.CheckConstraint(condition=Q(days__gte=1), name="commitment_alert_days_above_zero"),
        ]

    def __str__(self) -> str:
        return f"{self.what} ends {self.end:%Y-%m-%d} ({self.days} d)"
