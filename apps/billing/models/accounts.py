"""What an organisation calls its cloud accounts."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class NameSource(models.TextChoices):
    """Who gave the name."""

    ORGANIZATIONS = "organizations", _("AWS Organizations")
    CSV = "csv", _("File")


class AccountName(models.Model):
    """A name of an account for one organisation; two organisations may see one account and name it apart.

    `source` says where it came from; a file wins over AWS Organizations, whose next answer leaves it alone.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="account_names"
    )
    account = models.ForeignKey("catalog.CloudAccount", on_delete=models.PROTECT, related_name="names")
    name = models.CharField(_("name"), max_length=200)
    source = models.CharField(max_length=20, choices=NameSource)
    status = models.CharField(_("state at the provider"), max_length=40, blank=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["account"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "account"], name="account_name_once"),
            models.CheckConstraint(condition=~Q(name=""), name="account_name_not_empty"),
            models.CheckConstraint(
                condition=Q(source__in=NameSource.values), name="account_name_source_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name
