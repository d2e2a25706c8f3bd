"""Collecting metrics from CloudWatch or Prometheus for a person who asks by page or REST.

Prometheus is reached only at addresses that the operator named (PROMETHEUS_URLS): an address that somebody
types in could be any machine of the network. A worker does the asking; how the last one ended is kept beside,
for two weeks, and is nothing that a number rests on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db.models import Count, Max
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.recommendations.services.document import Document, iso
from apps.waste.models import ClusterUse, ListedResource, MetricSummary
from apps.waste.services.advice import billed_resources
from apps.waste.services.loading import Loaded, cloudwatch_collect, prometheus_cluster, prometheus_nodes
from finops.frames.money import currencies
from finops.providers.aws.names import is_region, role_account
from finops.providers.aws.session import Access
from finops.providers.base import ProviderError

CLOUDWATCH, PROMETHEUS = "cloudwatch", "prometheus"
KEPT_SECONDS = 14 * 24 * 3600
MOST_DAYS, MOST_NAME = 30, 200
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def prometheus_urls() -> list[str]:
    """The addresses that the operator allows."""
    return [one.strip().rstrip("/") for one in settings.PROMETHEUS_URLS if one.strip()]


def checked(given: Mapping[str, Any]) -> dict[str, str]:
    """What to collect, as texts. Raises ValidationError by field."""
    found = {name: str(value).strip() for name, value in given.items() if value not in (None, "")}
    source = found.get("source", "")
    if source not in (CLOUDWATCH, PROMETHEUS):
        raise ValidationError({"source": _("cloudwatch or prometheus.")})
    days = found.setdefault("days", "14")
    if not (days.isascii() and days.isdecimal() and 1 <= int(days[:6]) <= MOST_DAYS):
        raise ValidationError({"days": _("Between 1 and %(most)d.") % {"most": MOST_DAYS}})
    errors = _cloudwatch(found) if source == CLOUDWATCH else _prometheus(found)
    if errors:
        raise ValidationError(errors)
    return found


def _cloudwatch(found: Mapping[str, str]) -> dict[str, str]:
    errors = {}
    if not is_region(found.get("region", "")):
        errors["region"] = _("Name a region, for example eu-west-1.")
    if found.get("role") and not role_account(found["role"]):
        errors["role"] = _("Not the ARN of a role.")
    return errors


def _prometheus(found: dict[str, str]) -> dict[str, str]:
    errors = {}
    if found.get("url", "").rstrip("/") not in prometheus_urls():
        errors["url"] = _("The operator has not opened this address (setting PROMETHEUS_URLS).")
    if not _LABEL.fullmatch(found.setdefault("label", "instance_id")):
        errors["label"] = _("Not the name of a label.")
    if len(found.get("cluster", "")) > MOST_NAME or "\x00" in found.get("cluster", ""):
        errors["cluster"] = _("At most %(n)d characters.") % {"n": MOST_NAME}
    priced = False
    for name in ("core_hour", "gib_hour"):
        text = found.get(name, "")
        priced = priced or bool(text)
        if text and not re.fullmatch(r"\d{1,9}(\.\d{1,12})?", text):
            errors[name] = _("A price from 0 on, for example 0.031.")
    found["currency"] = found.get("currency", "").upper()
    if (priced or found["currency"]) and found["currency"] not in currencies():
        errors["currency"] = _("A price needs its currency.")
    return errors


def collect_request(
    *, organisation: Organisation, actor: Actor, given: Mapping[str, Any], now: datetime
) -> dict[str, str]:
    """Check, write the audit row and note that it waits; the caller hands the answer to a worker."""
    found = checked(given)
    audit_record(
        organisation=organisation, actor=actor, action="waste_metrics.collect", target=organisation,
        after=found,
    )  # fmt: skip
    _keep(organisation, found, {"state": "queued", "at": iso(now)})
    return found


def collect_run(*, organisation: Organisation, given: Mapping[str, Any], now: datetime) -> Document:
    """Ask the source and keep what it says; how it ended. The allow-list is asked again."""
    try:
        found = checked(given)
        loaded = _collected(organisation, found, now)
    except (ProviderError, ValidationError) as error:
        told = "; ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        return _keep(organisation, given, {"state": "failed", "at": iso(now), "error": told[:500]})
    return _keep(organisation, found, {"state": "done", "at": iso(now), **loaded.document()})


def _collected(organisation: Organisation, found: Mapping[str, str], now: datetime) -> Loaded:
    days = int(found["days"])
    if found["source"] == CLOUDWATCH:
        return cloudwatch_collect(
            organisation=organisation, region=found["region"], now=now, days=days,
            resources=billed_resources(organisation, found["region"], now),
            access=Access(found.get("role", "")),
        )  # fmt: skip
    if not found.get("cluster"):
        return prometheus_nodes(
            organisation=organisation, url=found["url"], label=found["label"], now=now, days=days
        )
    core, gib = (Decimal(found[name]) if name in found else None for name in ("core_hour", "gib_hour"))
    return prometheus_cluster(
        organisation=organisation, url=found["url"], cluster=found["cluster"], now=now, days=days,
        core_hour=core, gib_hour=gib, currency=found["currency"],
    )  # fmt: skip


def _name(given: Mapping[str, Any]) -> str:
    return " ".join(str(given[name]) for name in ("source", "region", "url", "cluster") if given.get(name))


def _key(organisation: Organisation) -> str:
    return f"waste-collect:{organisation.pk}"


def _keep(organisation: Organisation, given: Mapping[str, Any], outcome: Document) -> Document:
    whole = {"name": _name(given), **outcome}
    held = cache.get(_key(organisation)) or {}
    held[whole["name"]] = whole
    cache.set(_key(organisation), held, KEPT_SECONDS)
    return whole


def metrics_document(organisation: Organisation) -> Document:
    """What is stored, by where it came from, and how the last collecting ended."""
    metrics = MetricSummary.objects.filter(organisation=organisation)
    lists = ListedResource.objects.filter(organisation=organisation)
    clusters = ClusterUse.objects.filter(organisation=organisation)
    stored = [
        *(
            {"kind": "metrics", "name": row["source"], **_counted(row)}
            for row in metrics.values("source").annotate(
                n=Count("pk"), resources=Count("resource", distinct=True), newest=Max("loaded_at")
            ).order_by("source")
        ),
        *(
            {"kind": "list", "name": row["kind"], **_counted(row)}
            for row in lists.values("kind").annotate(
                n=Count("pk"), resources=Count("pk"), newest=Max("listed_at")
            ).order_by("kind")
        ),
        *(
            {"kind": "cluster", "name": row["cluster"], **_counted(row)}
            for row in clusters.values("cluster").annotate(
                n=Count("pk"), resources=Count("pk"), newest=Max("loaded_at")
            ).order_by("cluster")
        ),
    ]  # fmt: skip
    looks = cache.get(_key(organisation)) or {}
    return {
        "stored": stored,
        "collected": sorted(looks.values(), key=lambda one: one["at"], reverse=True),
        "prometheus_urls": prometheus_urls(),
    }


def _counted(row: Mapping[str, Any]) -> Document:
    return {"rows": row["n"], "resources": row["resources"], "newest": iso(row["newest"])}
