"""People, organisations, roles, API keys and the audit trail."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.fields import LowerEmailField
from apps.accounts.managers import UserManager
from apps.accounts.roles import Role
from apps.accounts.validators import validate_time_zone

DEFAULT_ORGANISATION = "default"
KEY_MAX_LIFE = timedelta(days=366)


class Theme(models.TextChoices):
    """Colour theme of the pages."""

    AUTO = "auto", _("As the device")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


class User(AbstractBaseUser, PermissionsMixin):
    """A person who signs in with an e-mail address; what they may do is in their memberships."""

    email = LowerEmailField(_("e-mail address"), unique=True)
    name = models.CharField(_("name"), max_length=150, blank=True)
    is_active = models.BooleanField(_("may sign in"), default=True)
    language = models.CharField(
        _("language"), max_length=10, blank=True, choices=[("en", "English"), ("zh-hans", "简体中文")]
    )
    time_zone = models.CharField(
        _("time zone"), max_length=64, default="UTC", validators=[validate_time_zone]
    )
    theme = models.CharField(_("theme"), max_length=5, choices=Theme, default=Theme.AUTO)
    date_joined = models.DateTimeField(db_default=Now(), editable=False)
    link_serial = models.PositiveIntegerField(
        default=0, editable=False, help_text=_("Counts links to set a password; only the newest works.")
    )

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            # With unique=True on lower-case text only, one address is one account whatever its case.
            models.CheckConstraint(condition=Q(email=Lower("email")), name="user_email_lower_case"),
            models.CheckConstraint(condition=Q(theme__in=Theme.values), name="user_theme_known"),
        ]

    def __str__(self) -> str:
        return self.email

    def get_full_name(self) -> str:
        """The name, or the address of somebody who gave none."""
        return self.name or self.email


class Organisation(models.Model):
    """Who owns the data: one by default; everything else hangs on it."""

    name = models.CharField(_("name"), max_length=100)
    slug = models.SlugField(max_length=50, unique=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    second_factor_required = models.BooleanField(_("second factor for everybody"), default=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def default(cls) -> Organisation:
        """The organisation of a new installation, made on first use; safe when two processes ask at once."""
        return cls.objects.get_or_create(slug=DEFAULT_ORGANISATION, defaults={"name": "Default"})[0]


class SecondFactor(models.Model):
    """The secret of a person's authenticator app, encrypted (apps/accounts/sealing.py)."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    secret = models.CharField(max_length=300, editable=False)
    # The newest step of the clock (30 s) whose code has passed: no code passes twice.
    last_step = models.BigIntegerField(editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"{self.user_id}"


class RecoveryCode(models.Model):
    """A code that stands in for the app once; only its SHA-256 is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    code_hash = models.CharField(max_length=64, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "code_hash"], name="recovery_code_once")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.used_at or ''}"


class Membership(models.Model):
    """One person's role in one organisation."""

    # PROTECT: people leave through services.member_remove, which keeps the last admin.
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(_("role"), max_length=10, choices=Role)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["user", "organisation"], name="membership_once_per_organisation"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.role}"


class Team(models.Model):
    """A group inside an organisation: owns keys, workloads and budgets."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="teams")
    name = models.CharField(_("name"), max_length=100)
    slug = models.SlugField(max_length=50)
    members = models.ManyToManyField(Membership, through="TeamMember", related_name="teams")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "slug"], name="team_slug_once_per_organisation")
        ]

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """A member in a team of the same organisation (a database trigger sees to that)."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    membership = models.ForeignKey(Membership, on_delete=models.CASCADE)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "membership"], name="team_member_once")]

    def __str__(self) -> str:
        return f"{self.team_id}: {self.membership_id}"


class ApiKey(models.Model):
    """A key of an organisation or one of its teams, never of a person: it survives those who leave.

    The secret is shown once and kept as its SHA-256: 256 random bits need no slow hash.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="api_keys")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True, related_name="api_keys")
    name = models.CharField(_("name"), max_length=100)
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    secret_hash = models.CharField(max_length=64, editable=False)
    scopes = ArrayField(models.CharField(max_length=40))
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="api_key_expires_later"),
            models.CheckConstraint(
                condition=Q(expires_at__lte=F("created_at") + KEY_MAX_LIFE), name="api_key_at_most_a_year"
            ),
            models.CheckConstraint(condition=Q(scopes__len__gt=0), name="api_key_has_scopes"),
            models.CheckConstraint(
                condition=Q(secret_hash__regex="^[0-9a-f]{64}$"),  # noqa: S106
                name="api_key_hash_is_sha256",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (opk_{self.prefix}_…)"

    def state(self, now: datetime) -> str:
        """`active`, `expired` or `revoked` at `now`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= now else "active"


class ActorKind(models.TextChoices):
    """Who can act."""

    USER = "user", _("Person")
    KEY = "key", _("API key")
    SYSTEM = "system", _("System")


class AuditEntry(models.Model):
    """Who did what to which object, when: append-only, a database trigger refuses UPDATE and DELETE.

    The actor is an id and a label, not a foreign key: an entry outlives the person and the key it names.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    at = models.DateTimeField(db_default=Now(), editable=False)
    actor_kind = models.CharField(max_length=6, choices=ActorKind)
    actor_id = models.BigIntegerField(null=True)
    actor_label = models.CharField(max_length=254)
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=100)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["organisation", "-id"], name="audit_by_organisation"),
            models.Index(fields=["object_type", "object_id"], name="audit_by_object"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(actor_kind__in=ActorKind.values), name="audit_actor_kind_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_label} {self.action}"


class AuditSeal(models.Model):
    """The place of an entry in its organisation's hash chain; the database writes it when the entry commits.

    `hash` is the SHA-256 of `previous`, a line break and the entry as text (`accounts_audit_text` in the
    database), `previous` the hash before it, 64 zeros for the first. Append-only like the trail itself.
    """

    entry = models.OneToOneField(AuditEntry, on_delete=models.PROTECT, primary_key=True, related_name="seal")
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    number = models.BigIntegerField()
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "number"], name="audit_seal_once", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.hash[:12]}"
