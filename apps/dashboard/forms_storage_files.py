"""Forms of the page Data → Storage files."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.ingest.storage.sources import AUTO, PROVIDERS
from finops.providers.storage import Kind

KIND_CHOICES: list[tuple[str, Any]] = [
    (AUTO, _("By its content")),
    (Kind.INVENTORY, _("Inventory")),
    (Kind.ACCESS_LOG, _("Server access log")),
    (Kind.CLOUDTRAIL, _("CloudTrail data events")),
    (Kind.STORAGE_LENS, _("Storage Lens export")),
    (Kind.READS, _("Table of reads")),
]
PROVIDER_CHOICES = list(zip(PROVIDERS, ("AWS", "Alibaba Cloud", "Tencent Cloud"), strict=True))


class _Told(forms.Form):
    """What the files do not say."""

    kind = forms.ChoiceField(label=_("Kind"), choices=KIND_CHOICES, initial=AUTO)
    provider = forms.ChoiceField(label=_("Provider"), choices=PROVIDER_CHOICES, initial="aws")
    bucket = forms.CharField(
        label=_("Bucket"), required=False, max_length=255, help_text=_("Only where no column names it.")
    )
    region = forms.CharField(
        label=_("Region"),
        required=False,
        max_length=40,
        help_text=_("Of the buckets, for example us-east-1."),
    )
    listed_at = forms.DateTimeField(
        label=_("Listed at"),
        required=False,
        help_text=_("UTC; only of a table without a manifest."),
        widget=forms.DateTimeInput(attrs={"placeholder": "2026-11-29 01:00"}),
    )


class StorageUploadForm(_Told):
    """An upload."""

    file = forms.FileField(
        label=_("File"),
        help_text=_("A log, a table, or a zip or tar of an inventory with its manifest.json."),
    )
    field_order = ("file", "kind", "provider", "bucket", "region", "listed_at")


class StoragePathForm(_Told):
    """A path on the server."""

    path = forms.CharField(
        label=_("Path on the server"), max_length=1000, help_text=_("A file, a folder or a pattern with *.")
    )
    field_order = ("path", "kind", "provider", "bucket", "region", "listed_at")


class StorageFeedForm(forms.Form):
    """A feed of an S3 prefix."""

    name = forms.CharField(label=_("Name"), max_length=100)
    bucket = forms.CharField(
        label=_("Bucket"), max_length=63, help_text=_("Where inventories and logs arrive.")
    )
    # Django takes declared fields off the class, so the form keeps its own `prefix`.
    prefix = forms.CharField(label=_("Prefix"), required=False, max_length=256)  # type: ignore[assignment]
    region = forms.CharField(label=_("Region"), max_length=40)
    role_arn = forms.CharField(label=_("Role (ARN)"), required=False, max_length=200)
    external_id = forms.CharField(label=_("External id"), required=False, max_length=200)
    account = forms.CharField(label=_("Account"), required=False, max_length=12)
