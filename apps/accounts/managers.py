"""Managers of the accounts app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.base_user import BaseUserManager
from django.db import transaction

from apps.accounts.roles import Role

if TYPE_CHECKING:
    from apps.accounts.models import User


class UserManager(BaseUserManager["User"]):
    """Users are named by their e-mail address."""

    def get_by_natural_key(self, username: str | None) -> User:
        """The user with this address, whatever its case."""
        return self.get(email=username)

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Store a user; without a password the account cannot sign in until one is set by link or SSO."""
        if not email:
            raise ValueError("an e-mail address is needed")
        user = self.model(email=email, **fields)
        user.set_password(password)
        user.full_clean(exclude=["password"])
        user.save(using=self._db)
        return user

    @transaction.atomic
    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Store a superuser who is admin of the default organisation: `./manage.py createsuperuser`."""
        from apps.accounts.models import Membership, Organisation

        user = self.create_user(email, password, **{**fields, "is_superuser": True})
        Membership.objects.create(user=user, organisation=Organisation.default(), role=Role.ADMIN)
        return user
