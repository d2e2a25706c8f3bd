"""Rules that give cost to teams, and the version that names the rules in force."""

from __future__ import annotations

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _


class RuleKind(models.TextChoices):
    """What a rule looks at."""

    ACCOUNT = "account", _("Account")
    SERVICE = "service", _("Service")
    TAG = "tag", _("Tag")
    COST_CATEGORY = "cost_category", _("Cost category")
    RESOURCE = "resource", _("Resource (pattern)")


class SplitMethod(models.TextChoices):
    """How a shared cost is divided; `NONE`: it belongs to one team."""

    NONE = "", _("One team")
    FIXED = "fixed", _("Fixed shares")
    EVEN = "even", _("Evenly")
    PROPORTIONAL = "proportional", _("By what the teams cost themselves")


class AllocationRule(models.Model):
    """Cost that matches goes to `team`, or is divided among the teams of its shares.

    Rules are tried by `priority`, the smallest first, then the oldest; the first that matches decides.
    `values`: any of them matches exactly (an empty list for a tag or cost category: every value but blank).
    `key`: the tag or cost category. `pattern`: an RE2 expression searched in the resource's id. A rule counts
    on days from `valid_from` to `valid_to`, both included; null is open.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="allocation_rules"
    )
    name = models.CharField(_("name"), max_length=100)
    priority = models.PositiveIntegerField(_("priority"), default=100)
    kind = models.CharField(_("kind"), max_length=20, choices=RuleKind)
    key = models.CharField(_("key"), max_length=300, blank=True)
    values = ArrayField(models.CharField(max_length=300), verbose_name=_("values"), default=list, blank=True)
    pattern = models.CharField(_("pattern"), max_length=500, blank=True)
    valid_from = models.DateField(_("valid from"), null=True, blank=True)
    valid_to = models.DateField(_("valid to"), null=True, blank=True)
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="allocation_rules", null=True, blank=True
    )
    split = models.CharField(_("split"), max_length=12, choices=SplitMethod, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["priority", "pk"]
        constraints = [
            models.UniqueConstraint("organisation", Lower("name"), name="allocation_rule_name_once"),
            models.CheckConstraint(condition=Q(name__regex=r"\S"), name="allocation_rule_has_name"),
            models.CheckConstraint(condition=Q(kind__in=RuleKind.values), name="allocation_rule_kind_known"),
            models.CheckConstraint(
                condition=Q(split__in=SplitMethod.values), name="allocation_rule_split_known"
            ),
            models.CheckConstraint(
                condition=Q(team__isnull=False, split="") | (Q(team__isnull=True) & ~Q(split="")),
                name="allocation_rule_team_or_split",
            ),
            models.CheckConstraint(
                condition=(
                    Q(kind__in=["account", "service"], key="", pattern="", values__len__gt=0)
                    | (Q(kind__in=["tag", "cost_category"], pattern="") & ~Q(key=""))
                    | (Q(kind="resource", key="", values__len=0) & ~Q(pattern=""))
                ),
                name="allocation_rule_says_what_matches",
            ),
            models.CheckConstraint(
                condition=Q(valid_from__isnull=True)
                | Q(valid_to__isnull=True)
                | Q(valid_to__gte=F("valid_from")),
                name="allocation_rule_ends_after_start",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RuleShare(models.Model):
    """A team's part of a divided cost; `share` of 1 for fixed shares, null for the other ways."""

    rule = models.ForeignKey(AllocationRule, on_delete=models.CASCADE, related_name="shares")
    team = models.ForeignKey("accounts.Team", on_delete=models.PROTECT, related_name="+")
    share: models.DecimalField[Decimal | None, Decimal | None] = models.DecimalField(
        max_digits=19, decimal_places=18, null=True, blank=True
    )

    class Meta:
        ordering = ["rule", "team__name"]
        constraints = [
            models.UniqueConstraint(fields=["rule", "team"], name="rule_share_once"),
            models.CheckConstraint(
                condition=Q(share__isnull=True) | Q(share__gt=0, share__lte=1), name="rule_share_in_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id}: {self.share}"


class AllocationVersion(models.Model):
    """Counts the changes of an organisation's rules: answers kept under an older number are not used."""

    organisation = models.OneToOneField(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="allocation_version"
    )
    number = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.organisation_id}: {self.number}"


class SavedView(models.Model):
    """A question of the spend explorer under a name; `query` is the address's query."""

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="saved_views"
    )
    owner = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(_("name"), max_length=100)
    query = models.CharField(max_length=4000, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = [Lower("name"), "pk"]
        constraints = [
            models.UniqueConstraint("owner", "organisation", Lower("name"), name="saved_view_name_once"),
            models.CheckConstraint(condition=Q(name__regex=r"\S"), name="saved_view_has_name"),
        ]

    def __str__(self) -> str:
        return self.name
