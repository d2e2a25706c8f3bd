"""A lake of the test's own with `tests.support.waste_lines`, and browsers of each role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from tests.support.bill_lake import put_bill
from tests.support.lake import fresh_lake
from tests.support.waste_lines import lines


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def bill(organisation: Organisation, settings: Any, tmp_path: Path) -> Iterator[Organisation]:
    cache.clear()
    with fresh_lake(settings, tmp_path / "lake"):
        put_bill(lines(), period=date(2026, 3, 1), organisation=organisation)
        yield organisation


@pytest.fixture
def sign_in(organisation: Organisation) -> Callable[[str], Client]:
    """`sign_in("viewer")` is a browser of a person with this role."""

    def make(role: str) -> Client:
        user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
        Membership.objects.create(user=user, organisation=organisation, role=role)
        client = Client()
        client.force_login(user)
        return client

    return make
