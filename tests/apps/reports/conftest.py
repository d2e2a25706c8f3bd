"""An organisation with steady bills in a lake of the test's own, and a subscription of its people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.reports.models import Subscription
from apps.reports.services.subscriptions import subscription_save
from tests.support.lake import fresh_lake
from tests.support.steady_bills import NOW, put_steady_bills

TEST = Actor.system("test")


@pytest.fixture(autouse=True)
def _fresh_cache() -> None:
    cache.clear()


@pytest.fixture
def organisation(db: None) -> Organisation:
    found = Organisation.default()
    user = User.objects.create_user("ada@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=found, role="admin")
    return found


@pytest.fixture
def empty_lake(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


@pytest.fixture
def bills(empty_lake: Path, organisation: Organisation) -> None:
    put_steady_bills()


@pytest.fixture
def subscribe(organisation: Organisation) -> Callable[..., Subscription]:
    """`subscribe(edition="engineering")` is a subscription; `recipients` are by default two."""

    def make(
        recipients: tuple[str, ...] = ("ada@example.test", "bo@example.test"), **fields: Any
    ) -> Subscription:
        return subscription_save(
            organisation=organisation,
            actor=TEST,
            fields={"name": "Weekly", "time_zone": "Europe/Berlin", **fields},
            recipients=recipients,
            now=NOW,
        )

    return make
