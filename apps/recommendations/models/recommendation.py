"""What could be saved, what people decided about it, and what the bill says it saved."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ActorKind
from apps.recommendations.fields import DocumentField
from finops.frames.focus import DECIMAL_PRECISION, DECIMAL_SCALE


class RecommendationState(models.TextChoices):
    """Where a recommendation stands; every change is a `RecommendationEvent`."""

    OPEN = "open", _("Open")
    SNOOZED = "snoozed", _("Snoozed")
    DISMISSED = "dismissed", _("Dismissed")
    ACCEPTED = "accepted", _("Accepted")
    DONE = "done", _("Done")
    EXPIRED = "expired", _("Expired")


class Effort(models.TextChoices):
    """How much work it is to carry out."""

    LOW = "low", _("Low effort")
    MEDIUM = "medium", _("Medium effort")
    HIGH = "high", _("High effort")


class Reversibility(models.TextChoices):
    """How much of it can be taken back."""

    FULL = "full", _("Reversible")
    PARTLY = "partly", _("Partly reversible")
    NONE = "none", _("Not reversible")


class EventAction(models.TextChoices):
    """What happened to a recommendation."""

    PUBLISHED = "published", _("Found")
    REFRESHED = "refreshed", _("Brought up to date")
    FOUND_AGAIN = "found_again", _("Found again")
    WOKEN = "woken", _("Snooze ended")
    EXPIRED = "expired", _("Expired")
    ACCEPTED = "accepted", _("Accepted")
    DONE = "done", _("Carried out")
    DISMISSED = "dismissed", _("Dismissed")
    SNOOZED = "snoozed", _("Snoozed")
    REOPENED = "reopened", _("Opened again")
    ASSIGNED = "assigned", _("Owner changed")


def _money() -> models.DecimalField[Decimal, Decimal]:
    return models.DecimalField(max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE)


def _unknown_money() -> models.DecimalField[Decimal | None, Decimal | None]:
    return models.DecimalField(
        max_digits=DECIMAL_PRECISION, decimal_places=DECIMAL_SCALE, null=True, blank=True
    )


_DECIDED = [RecommendationState.ACCEPTED, RecommendationState.DONE]
# One row a subject is in these; accepted and done rows are history that a new row may follow.
_LIVE = [s for s in RecommendationState.values if s not in _DECIDED]


class Recommendation(models.Model):
    """One way to save, about `subject`, which claims hours or resources from `claim_start` to `claim_end`.

    Savings are over the claim period, 90 % interval; `monthly_saving` per month, `one_time` paid once.
    `claims`: keys of what it uses up; two rows that share one at the same time are alternatives.
    `scenarios`: savings over the same worlds in the same order for all rows of one `scenario_set`.
    `document` holds what its kind words; `evidence` what it rests on. `counterfactual` is fixed at acceptance
    for later bills to be compared with. `stated_low`, `stated_high` are the interval somebody decided on: a
    finding outside of it is news. `gone_at`: since when a whole look no longer finds it.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="recommendations"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="recommendations", null=True, blank=True
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        related_name="recommendations",
        null=True,
        blank=True,
    )
    follows = models.ForeignKey(
        "self", on_delete=models.PROTECT, related_name="followed_by", null=True, blank=True
    )
    kind = models.CharField(_("kind"), max_length=40)
    subject = models.CharField(_("subject"), max_length=300)
    document = DocumentField()
    claims = ArrayField(models.CharField(max_length=300), default=list, blank=True)
    claim_start = models.DateTimeField(_("claims from"))
    claim_end = models.DateTimeField(_("claims to"))
    currency = models.CharField(_("currency"), max_length=10)
    saving_low = _money()
    saving = _money()
    saving_high = _money()
    monthly_saving = _money()
    one_time = _money()
    scenario_set = models.CharField(max_length=200, blank=True)
    scenarios = ArrayField(_money(), default=list, blank=True)
    effort = models.CharField(_("effort"), max_length=6, choices=Effort)
    reversibility = models.CharField(_("reversibility"), max_length=6, choices=Reversibility)
    evidence = models.JSONField(default=dict)
    found_at = models.DateTimeField(_("found"))
    refreshed_at = models.DateTimeField(_("last found"))
    gone_at = models.DateTimeField(null=True, blank=True)

    state = models.CharField(
        _("state"), max_length=9, choices=RecommendationState, default=RecommendationState.OPEN
    )
    until = models.DateField(_("until"), null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    author = models.CharField(max_length=254, blank=True)
    stated_at = models.DateTimeField(null=True, blank=True)
    stated_low = _unknown_money()
    stated_high = _unknown_money()
    accepted_at = models.DateTimeField(null=True, blank=True)
    counterfactual = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-monthly_saving", "pk"]
        indexes = [
            models.Index(fields=["organisation", "state", "kind"], name="recommendation_by_state"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "kind", "subject"],
                condition=Q(state__in=_LIVE),
                name="recommendation_live_once",
            ),
            models.CheckConstraint(
                condition=~Q(kind="") & ~Q(subject="") & ~Q(currency=""), name="recommendation_has_subject"
            ),
            models.CheckConstraint(
                condition=Q(claim_end__gt=F("claim_start")), name="recommendation_claims_in_order"
            ),
            models.CheckConstraint(
                condition=Q(saving_low__lte=F("saving"), saving_high__gte=F("saving")),
                name="recommendation_saving_in_interval",
            ),
            models.CheckConstraint(condition=Q(effort__in=Effort.values), name="recommendation_effort_known"),
            models.CheckConstraint(
                condition=Q(reversibility__in=Reversibility.values),
                name="recommendation_reversibility_known",
            ),
            models.CheckConstraint(
                condition=Q(refreshed_at__gte=F("found_at")), name="recommendation_times_in_order"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "expired"], until__isnull=True, counterfactual__isnull=True)
                | (Q(state="snoozed", until__isnull=False, counterfactual__isnull=True) & ~Q(author=""))
                | (
                    Q(state="dismissed", until__isnull=True, counterfactual__isnull=True)
                    & ~Q(reason="")
                    & ~Q(author="")
                )
                | (
                    Q(state__in=_DECIDED, until__isnull=True)
                    & Q(counterfactual__isnull=False, accepted_at__isnull=False)
                    & ~Q(author="")
                ),
                name="recommendation_says_who_and_why",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "expired"])
                | Q(stated_at__isnull=False, stated_low__isnull=False, stated_high__isnull=False),
                name="recommendation_decision_has_interval",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.state}"


class RecommendationEvent(models.Model):
    """One change of a recommendation: append-only, a database trigger refuses UPDATE and DELETE.

    `facts`: the savings as they then were and what else the change brought, decimals as texts.
    """

    recommendation = models.ForeignKey(Recommendation, on_delete=models.PROTECT, related_name="events")
    at = models.DateTimeField()
    action = models.CharField(max_length=11, choices=EventAction)
    before = models.CharField(max_length=9, choices=RecommendationState, blank=True)
    after = models.CharField(max_length=9, choices=RecommendationState)
    actor_kind = models.CharField(max_length=6, choices=ActorKind)
    actor_id = models.BigIntegerField(null=True)
    actor_label = models.CharField(max_length=254)
    reason = models.CharField(max_length=500, blank=True)
    facts = models.JSONField(default=dict)
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(action__in=EventAction.values), name="recommendation_event_action_known"
            ),
            models.CheckConstraint(
                condition=Q(before__in=["", *RecommendationState.values])
                & Q(after__in=RecommendationState.values),
                name="recommendation_event_states_known",
            ),
            models.CheckConstraint(
                condition=Q(actor_kind__in=ActorKind.values), name="recommendation_event_actor_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.recommendation_id}: {self.action} {self.at:%Y-%m-%d %H:%M}"


class RealisedSaving(models.Model):
    """What one calendar month (UTC) of an accepted recommendation saved: counterfactual less bill.

    `actual` and `saving` are null while the bill of the month is not there or cannot answer; `reason` says
    what is missing. `promised` is the part of the accepted saving that falls into the month.
    """

    recommendation = models.ForeignKey(Recommendation, on_delete=models.CASCADE, related_name="realised")
    month = models.DateField()
    currency = models.CharField(max_length=10)
    promised = _money()
    counterfactual = _unknown_money()
    actual = _unknown_money()
    saving = _unknown_money()
    complete = models.BooleanField(default=False)
    reason = models.CharField(max_length=500, blank=True)
    evidence = models.JSONField(default=dict)
    computed_at = models.DateTimeField()

    class Meta:
        ordering = ["recommendation", "month"]
        constraints = [
            models.UniqueConstraint(fields=["recommendation", "month"], name="realised_month_once"),
            models.CheckConstraint(condition=Q(month__day=1), name="realised_is_a_month"),
            models.CheckConstraint(
                condition=(
                    Q(saving__isnull=True)
                    & (Q(actual__isnull=True) | Q(counterfactual__isnull=True))
                    & ~Q(reason="")
                )
                | Q(
                    saving__isnull=False,
                    actual__isnull=False,
                    counterfactual__isnull=False,
                    saving=F("counterfactual") - F("actual"),
                ),
                name="realised_is_the_difference",
            ),
            models.CheckConstraint(
                condition=Q(complete=False) | Q(saving__isnull=False), name="realised_complete_has_saving"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.recommendation_id} {self.month:%Y-%m}: {self.saving}"


class InboxLook(models.Model):
    """When the recommendations of a kind were last looked for, and what came of it.

    `seen` names the data looked at: the same is not looked at again. `looked` subjects, `found` of them worth
    a recommendation; `problems`: [{"name", "reason"}] of those that could not be judged.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="inbox_looks"
    )
    kind = models.CharField(_("kind"), max_length=40)
    at = models.DateTimeField()
    seen = models.CharField(max_length=64, blank=True)
    looked = models.PositiveIntegerField(default=0)
    found = models.PositiveIntegerField(default=0)
    problems = models.JSONField(default=list)

    class Meta:
        ordering = ["kind"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "kind"], name="inbox_look_once_a_kind"),
            models.CheckConstraint(condition=Q(found__lte=F("looked")), name="inbox_look_found_what_it_saw"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.found} of {self.looked}"
