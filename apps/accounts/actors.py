"""Who acts: a person, an API key or the installation itself; services take an `Actor` and write it to the
audit trail.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.accounts.models import ActorKind, ApiKey, User


@dataclass(frozen=True, slots=True)
class Actor:
    """An id of its kind (None for the system) and a label that stays readable when the person or key is
    gone.
    """

    kind: ActorKind
    id: int | None
    label: str

    @classmethod
    def of_user(cls, user: User) -> Actor:
        """A signed-in person."""
        return cls(ActorKind.USER, user.pk, user.email)

    @classmethod
    def of_key(cls, key: ApiKey) -> Actor:
        """An API key."""
        return cls(ActorKind.KEY, key.pk, str(key))

    @classmethod
    def system(cls, label: str) -> Actor:
        """The installation itself: a command, a beat entry."""
        return cls(ActorKind.SYSTEM, None, label)
