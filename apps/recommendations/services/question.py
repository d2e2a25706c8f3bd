"""A question in the words of the command line, checked against what is known, as a `Workload`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.catalog.models import InstanceType, Region
from apps.catalog.selectors import instance_types_matching
from apps.ingest.models import Provider
from apps.prices.models import ListPrice
from apps.prices.selectors import transfer_prices
from apps.prices.selectors.directory import Directory, directory, nearest
from finops.engine.workload import Workload, WorkloadError


@dataclass(frozen=True)
class Question:
    """A workload whose zones are zone keys, the types that fit its sizes, and what is loaded."""

    workload: Workload
    fitting: tuple[str, ...]
    known: Directory


def workload_question(
    *, at: datetime, snapshots: Mapping[str, int], slack_hours: float | None = None, **given: Any
) -> Question:
    """Resolve names and check them. Raises WorkloadError with the field and the nearest known names.

    `given`: the fields of `Workload`; lists may be any sequence. Without slack and deadline the start does
    not wait.
    """
    if slack_hours is None and given.get("deadline") is None:
        slack_hours = 0.0
    asked = {name: _clean(value) for name, value in given.items() if value is not None}
    provider = str(asked.get("provider") or "aws")
    check_provider(provider)
    regions = tuple(asked.get("regions") or ())
    places = (*regions, *asked.get("zones", ()), asked.get("home_zone", ""))
    known = directory(provider=provider, snapshots=snapshots, naming=(*places, *(asked.get("types") or ())))
    check_regions(regions, known, provider)
    check_product(str(asked.get("product", "")), known)
    zones = tuple(resolve_zone(z, regions, known, "zones") for z in asked.pop("zones", ()))
    home = asked.pop("home_zone", "")
    workload = Workload(
        at=at,
        slack_hours=slack_hours,
        zones=zones,
        home_zone=resolve_zone(home, regions, known, "home_zone") if home else "",
        **{**asked, "regions": regions, "types": tuple(asked.get("types") or ())},
    )
    check_types(workload.types, known, provider)
    if workload.data_region and not transfer_prices(
        provider=provider, from_region=workload.data_region, to_regions=regions, at=at
    ):
        check_regions([workload.data_region], known, provider, "data_region")
    return Question(workload, _fitting(workload), known)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Sequence):
        return tuple(dict.fromkeys(str(part).strip() for part in value if str(part).strip()))
    return value


def _fitting(workload: Workload) -> tuple[str, ...]:
    if not workload.by_size:
        return ()
    types = instance_types_matching(
        min_vcpu=workload.min_vcpu or 0,
        min_memory_gib=workload.min_memory_gib or 0,
        gpu=workload.gpu,
        gpus=workload.gpus or 0,
        provider=workload.provider,
    )
    if not workload.gpu and not workload.gpus:
        # A GPU's price and drivers belong to another job than one that asks for none.
        types = types.filter(gpu_count=0)
    found = tuple(types.values_list("name", flat=True))
    if not found:
        if workload.gpu:
            raise WorkloadError(
                "gpu", _("No known instance type has this GPU and size. Load instance types or ask for less.")
            )
        raise WorkloadError(
            "min_vcpu", _("No known instance type is large enough. Load instance types or ask for less.")
        )
    return found


def check_provider(provider: str) -> None:
    """A cloud whose prices can be loaded; its data need not be."""
    if provider not in Provider.values:
        raise WorkloadError(
            "provider",
            _("Provider %(word)s is not known. Known: %(known)s.")
            % {"word": provider, "known": ", ".join(Provider.values)},
        )


def check_regions(regions: Collection[str], known: Directory, provider: str, field: str = "regions") -> None:
    """Every region has Spot prices, list prices or an entry in the catalogue; nothing is checked without
    data.
    """
    unknown = [region for region in regions if region not in known.regions]
    if not unknown or not known.regions:
        return
    listed = set(
        ListPrice.objects.filter(provider=provider, region__in=unknown).values_list("region", flat=True)
    )
    listed |= set(Region.objects.filter(provider=provider, code__in=unknown).values_list("code", flat=True))
    for region in unknown:
        if region not in listed:
            raise WorkloadError(field, _unknown(_("Region"), region, known.regions))


def check_types(types: Collection[str], known: Directory, provider: str, field: str = "types") -> None:
    """At least one of the named types is known somewhere; a single unknown one among others is told as
    such.
    """
    if not types or not known.types or set(types) & known.types:
        return
    facts = InstanceType.objects.filter(provider=provider, name__in=types).exists()
    listed = facts or ListPrice.objects.filter(provider=provider, instance_type__in=types).exists()
    if not listed:
        raise WorkloadError(field, _unknown(_("Instance type"), next(iter(types)), known.types))


def check_product(product: str, known: Directory) -> None:
    """The product text is loaded, or means the same as one that is."""
    from apps.catalog.selectors import product as product_of

    if product and known.products and product not in known.products and product_of(product) is None:
        raise WorkloadError("product", _unknown(_("Product"), product, known.products))


def resolve_zone(zone: str, regions: Iterable[str], known: Directory, field: str) -> str:
    """The zone key of a zone name or id; the text itself when nothing is loaded."""
    regions = tuple(regions)
    found = known.zone_key(zone.strip(), regions)
    if found is not None:
        return found[1]
    if not known.zones:
        return zone.strip()
    elsewhere = known.zone_key(zone.strip(), known.zones)
    if elsewhere is not None:
        raise WorkloadError(
            field,
            _("%(zone)s lies in %(region)s, which is not among the regions allowed.")
            % {"zone": zone, "region": elsewhere[0]},
        )
    raise WorkloadError(field, _unknown(_("Zone"), zone, known.zone_names(regions)))


def _unknown(what: str, word: str, known: Collection[str]) -> str:
    near = ", ".join(nearest(word, known))
    if not near:
        return _("%(what)s %(word)s is not known.") % {"what": what, "word": word}
    return _("%(what)s %(word)s is not known. Nearest: %(near)s.") % {
        "what": what,
        "word": word,
        "near": near,
    }
