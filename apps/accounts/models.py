"""People, organisations, roles, keys and the audit trail."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A person who signs in."""
