"""Callers of the API: people of each role and keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.services import api_key_create


@pytest.fixture(autouse=True)
def _fresh_counters() -> None:
    cache.clear()


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def sign_in(organisation: Organisation) -> Callable[..., Client]:
    """`sign_in("viewer")` is a browser of a person with this role."""

    def make(role: str, **options: Any) -> Client:
        user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
        Membership.objects.create(user=user, organisation=organisation, role=role)
        client = Client(**options)
        client.force_login(user)
        return client

    return make


@pytest.fixture
def with_key(organisation: Organisation) -> Callable[..., Client]:
    """`with_key("read:prices")` is a program with a key of these scopes."""

    def make(*scopes: str) -> Client:
        _key, token = api_key_create(
            organisation=organisation,
            actor=Actor.system("test"),
            name="program",
            scopes=scopes,
            now=timezone.now(),
        )
        return Client(headers={"Authorization": f"Bearer {token}"})

    return make
