"""Findings of waste in sentences: titles begin with a verb, texts say on what they rest."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from apps.recommendations.kinds import Sentence
from apps.recommendations.wording import day, joined, money
from apps.waste.commands import name_of

# (title, text) of each rule; the values are facts of the finding.
_TEXTS: Mapping[str, tuple[str, str]] = {
    "volume-unattached": (
        noop("Delete the unused volume %(resource)s"),
        noop("%(gib)s GiB are billed and no instance uses them."),
    ),
    "volume-of-stopped-instance": (
        noop("Delete the volume %(resource)s of a stopped instance"),
        noop("%(gib)s GiB belong to %(instance)s, which has not run."),
    ),
    "snapshot-old": (
        noop("Delete the old snapshot %(resource)s"),
        noop("Billed since %(since)s; the policy keeps %(policy_days)s days."),
    ),
    "snapshot-of-deleted-volume": (
        noop("Delete the snapshot %(resource)s of a deleted volume"),
        noop("Its volume %(volume)s is gone."),
    ),
    "address-idle": (
        noop("Release idle public addresses: %(resource)s"),
        noop("%(count)s billed as idle, %(hours)s address-hours on the judged days."),
    ),
    "balancer-idle": (
        noop("Delete the idle load balancer %(resource)s"),
        noop("%(traffic)s %(unit)s of traffic a day in %(days)s days; the threshold is %(threshold)s."),
    ),
    "gateway-idle": (
        noop("Delete the idle NAT gateway %(resource)s"),
        noop("%(traffic)s %(unit)s of traffic a day in %(days)s days; the threshold is %(threshold)s."),
    ),
    "private-endpoint-idle": (
        noop("Delete the idle interface endpoint %(resource)s"),
        noop("%(traffic)s %(unit)s of traffic a day in %(days)s days; the threshold is %(threshold)s."),
    ),
    "transit-idle": (
        noop("Delete the idle transit attachment %(resource)s"),
        noop("%(traffic)s %(unit)s of traffic a day in %(days)s days; the threshold is %(threshold)s."),
    ),
    "model-endpoint-idle": (
        noop("Delete the idle model endpoint %(resource)s"),
        noop("%(traffic)s %(unit)s of traffic a day in %(days)s days; the threshold is %(threshold)s."),
    ),
    "development-endpoint-always-on": (
        noop("Stop %(resource)s at night and at weekends"),
        noop("It ran %(hours)s hours, and in %(night_share)s %% of the nights and weekends."),
    ),
    "nights-and-weekends": (
        noop("Stop %(resource)s at night and at weekends"),
        noop("Tagged %(tag)s, it ran in %(night_share)s %% of the nights and weekends."),
    ),
    "volume-gp2": (
        noop("Change the volume %(resource)s to gp3"),
        noop("%(gib)s GiB of gp2; with %(iops)s IOPS as now."),
    ),
    "volume-provisioned": (
        noop("Change the volume %(resource)s to gp3"),
        noop("%(gib)s GiB with %(iops)s provisioned IOPS, which gp3 gives too."),
    ),
    "old-generation": (
        noop("Change %(resource)s from %(type)s to %(newer)s"),
        noop("The list price of an hour falls from %(price)s to %(newer_price)s, by %(share)s %%."),
    ),
    "extended-support": (
        noop("Upgrade %(resource)s: it pays for extended support"),
        noop("The surcharge was billed on %(days)s of the judged days."),
    ),
    "capacity-unused": (
        noop("Cancel the unused capacity of %(resource)s"),
        noop("Reserved and unused on %(days)s of the judged days."),
    ),
    "fast-restore": (
        noop("Disable fast restore of %(resource)s"),
        noop("Billed on %(days)s of the judged days."),
    ),
    "transfer-between-zones": (
        noop("Reduce the traffic between zones of %(resource)s"),
        noop("%(gb)s GB a month; that %(share)s %% can be avoided is an assumption."),
    ),
    "logs-without-retention": (
        noop("Set a retention for the log group %(resource)s"),
        noop("It never shrinks; %(older)s %% is older than %(retention_days)s days."),
    ),
    "spot-eligible": (
        noop("Run %(resource)s on Spot"),
        noop("Tagged %(tag)s; an hour of %(type)s on Spot costs %(spot)s on average."),
    ),
    "free-tier-leftover": (
        noop("Delete %(resource)s, which was free"),
        noop("Free until %(free_until)s, paid in full since."),
    ),
    "instance-idle": (
        noop("Stop the idle instance %(resource)s"),
        noop("p99 of CPU is %(cpu_p99)s %%, of network %(network_p99)s Mbit/s over %(days)s days."),
    ),
    "instance-too-large": (
        noop("Change %(resource)s from %(type)s to %(target)s"),
        noop("p99 of CPU is %(cpu_p99)s %% over %(days)s days; the price falls by %(share)s %%."),
    ),
    "database-idle": (
        noop("Stop the idle database %(resource)s"),
        noop("No connection in %(days)s days."),
    ),
    "volume-unused-iops": (
        noop("Lower the IOPS of %(resource)s to %(needed)s"),
        noop("%(iops)s are provisioned, p99 of use is %(p99)s."),
    ),
    "database-provisioned": (
        noop("Change the storage of the database %(resource)s to gp3"),
        noop("%(gib)s GiB with %(iops)s provisioned IOPS; gp3 gives %(included)s without a charge."),
    ),
    "database-stopped": (
        noop("Delete the stopped database %(resource)s"),
        noop("%(gib)s GiB are billed, and it has not run for %(days)s days."),
    ),
    "database-too-large": (
        noop("Change the database %(resource)s from %(type)s to %(target)s"),
        noop("p99 of CPU is %(cpu_p99)s %% over %(days)s days; the price falls by %(share)s %%."),
    ),
    "database-unused-iops": (
        noop("Lower the IOPS of %(resource)s to %(needed)s"),
        noop("%(iops)s are provisioned, p99 of use is %(p99)s."),
    ),
    "table-idle": (
        noop("Change the table %(resource)s to on-demand mode"),
        noop("No unit of its provisioned capacity was used in %(days)s days."),
    ),
    "table-capacity-unused": (
        noop("Lower the capacity of the table %(resource)s"),
        noop(
            "Reads: %(reads_given)s units a second provisioned, p99 %(reads_p99)s. Writes: %(writes_given)s, "
            "p99 %(writes_p99)s."
        ),
    ),
    "burst-surplus": (
        noop("Change %(resource)s from %(type)s to %(target)s"),
        noop("Its surplus CPU credits cost %(credits)s a month; %(target)s does not need them."),
    ),
    "kubernetes-requests": (
        noop("Lower the requests of %(resource)s"),
        noop(
            "It asks for %(cpu_request)s cores and %(memory_request)s GiB; p99 is %(cpu_p99)s and "
            "%(memory_p99)s."
        ),
    ),
}  # fmt: skip
_NOTES: Mapping[str, str] = {
    "partly-covered": noop("The part that a commitment pays frees nothing until it has other use."),
    "snapshot-dearer": noop("A snapshot may cost more than the volume."),
    "image-unknown": noop("Whether an image uses it is not known: look before deleting."),
    "assumption": noop("How much can be avoided is an assumption: set your own threshold."),
    "no-memory": noop("Memory was not measured: the target keeps it as it is, and confidence is halved."),
    "fewer-nodes": noop("Money is saved once nodes become fewer."),
    "later-prices": noop("By list prices that are later than the judged days."),
    "last-snapshot": noop("What a last snapshot costs is not taken off: its price is not known here."),
    "made-anew": noop("It cannot be stopped: it is deleted in the evening and made anew in the morning."),
    "burst": noop("It spends CPU credits: p95 of CPU with head-room stays below what it earns."),
    "kept": noop("What a commitment pays for now would go on paying for a part of it."),
    "architecture": noop("Another architecture: programs have to be built for it."),
}
_KEPT: Mapping[str, str] = {
    "gone": noop("It left the bill on %(last)s: nothing is saved by stopping it again."),
    "keep-tag": noop("A tag says that it stays."),
    "covered": noop("A commitment pays for it: freeing it saves nothing until the commitment has other use."),
    "nothing": noop("It costs nothing on the judged days."),
    "credits": noop("Its CPU credits ran out: it is throttled or pays for surplus credits."),
}
_UNJUDGED: Mapping[str, str] = {
    "no-bill": noop("No bill is loaded."),
    "not-yet": noop("What it advises exists since %(since)s, after the judged days."),
    "switched-off": noop("Switched off."),
    "no-resource": noop(
        "Lines name no resource in account %(account)s, %(region)s: the export needs resource ids."
    ),
    "no-cost": noop("Lines of %(resource)s have no amortised cost."),
    "by-day": noop("Lines are longer than an hour: nights and weekends cannot be told apart."),
    "no-tags": noop("No tag says what may be stopped or interrupted; looked for: %(keys)s."),
    "no-list": noop(
        "%(n)s volumes stand where instances run, and a bill does not say what uses them: load a list of "
        "volumes."
    ),
    "no-snapshot-list": noop("A bill does not say of which volume a snapshot is: load a list of snapshots."),
    "short-history": noop("Bills are stored since %(since)s only, less than the policy's age."),
    "no-price": noop("No list price of gp3 is known."),
    "no-list-price": noop("No list price or size is loaded of %(types)s."),
    "no-spot-price": noop("No Spot price is loaded of %(types)s."),
    "no-metrics": noop("%(n)s resources have no metrics of 14 days: load CloudWatch, Prometheus or CSV."),
    "no-memory": noop("Free memory of %(n)s databases was not measured: a smaller class has less of it."),
    "no-engine": noop("Prices of the engine of %(names)s do not follow the size."),
    "no-cluster": noop("No requests and use of a Kubernetes cluster are loaded."),
    "short-cluster": noop("%(n)s workloads were measured for less than %(days)s days."),
    "provider": noop("No rule reads lines of %(provider)s: %(cost)s of the judged days."),
}  # fmt: skip
_DATES = ("since", "free_until", "last")
ALL_TEXTS = (_TEXTS, _NOTES, _KEPT, _UNJUDGED)


def facts_words(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for a sentence: times as days, nothing missing."""
    found: dict[str, Any] = dict(facts)
    for name in _DATES:
        if found.get(name):
            found[name] = day(datetime.fromisoformat(str(found[name])))
    return found


class _Values(dict[str, Any]):
    """Values of a sentence; what is not known is a dash."""

    def __missing__(self, key: str) -> str:
        return "—"


def _filled(text: str, values: Mapping[str, Any]) -> str:
    return _(text) % _Values(values)


def title_of(found: Mapping[str, Any]) -> str:
    """What to do, with the resource's short name."""
    title, _text = _TEXTS.get(found["rule"], ("%(rule)s: %(resource)s", ""))
    return _filled(title, {**facts_words(found["facts"]), "resource": short(found), "rule": found["rule"]})


def text_of(found: Mapping[str, Any]) -> str:
    """On what it rests, with what to mind."""
    _title, text = _TEXTS.get(found["rule"], ("", ""))
    notes = [_(_NOTES[note]) for note in found.get("notes", ()) if note in _NOTES]
    return joined(_filled(text, facts_words(found["facts"])) if text else "", *notes)


def short(found: Mapping[str, Any]) -> str:
    """The resource without the ARN around it; account and region where lines name none."""
    name = name_of(str(found["resource"])) if found["resource"] else ""
    return name or f"{found['account']} {found['region']}".strip()


def kept_text(code: str, facts: Mapping[str, Any]) -> str:
    """Why a resource that fits a rule saves nothing."""
    return _filled(_KEPT.get(code, code), facts_words(facts))


def unjudged_text(code: str, facts: Mapping[str, Any]) -> str:
    """Why a rule could not be asked."""
    return _filled(_UNJUDGED.get(code, code), facts_words(facts))


def worded(document: Mapping[str, Any], language: str) -> Sentence:
    """A finding in the language asked for."""
    with translation.override(language):
        currency = document["currency"]
        lines = (
            (_("Rule"), document["rule"]),
            (_("Resource"), document["resource"] or "—"),
            (_("Where"), f"{document['account']}, {document['region']}"),
            (_("Cost a month"), money(float(document["monthly_cost"]), currency)),
            *((one["tool"], one["text"]) for one in document.get("commands", ())),
        )
        return Sentence(title_of(document), text_of(document), lines)
