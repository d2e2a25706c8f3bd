"""Tokens of links to set a password."""

from __future__ import annotations

from django.contrib.auth.tokens import PasswordResetTokenGenerator

from apps.accounts.models import User


class LinkTokens(PasswordResetTokenGenerator):
    """A token dies with a new password, address or sign-in, and when a newer link is made."""

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.link_serial}"
