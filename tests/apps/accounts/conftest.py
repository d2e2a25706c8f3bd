"""Shared rows of the accounts tests."""

from __future__ import annotations

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Role


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def admin(organisation: Organisation) -> Membership:
    user = User.objects.create_user("ada@example.test", "correct horse battery", name="Ada")
    return Membership.objects.create(user=user, organisation=organisation, role=Role.ADMIN)


@pytest.fixture
def actor(admin: Membership) -> Actor:
    return Actor.of_user(admin.user)
