"""What the catalog leaves out is not taken for a no."""

from __future__ import annotations

import pytest

from apps.catalog.models import InstanceType
from apps.waste.services.beside import sizes_of
from tests.support.waste_uses import use


@pytest.mark.django_db
def test_a_type_with_a_baseline_bursts_whatever_its_source_says() -> None:
    for name in ("t3.large", "t3.medium", "m5.large"):
        InstanceType.objects.create(
            provider="aws", name=name, vcpus=2, memory_mib=8192, source="test", architectures=["x86_64"]
        )
    database = use("db", "database", instance_type="db.t3.large")
    found = sizes_of([database])
    assert {name: one.burstable for name, one in found.items()} == {"t3.large": True, "t3.medium": True}
    assert sizes_of([use()]) == {}
