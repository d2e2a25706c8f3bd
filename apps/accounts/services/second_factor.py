"""A person's second factor: codes by the clock (RFC 6238) from an app, and recovery codes on paper.

The secret is kept encrypted, recovery codes as their SHA-256 only (80 random bits need no slow hash). A code
passes once: the step of the clock that it belongs to is written down by a conditional update.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from datetime import datetime

import pyotp
import structlog
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, RecoveryCode, SecondFactor, User
from apps.accounts.sealing import SealBrokenError, seal, unseal
from apps.accounts.services.audit import audit_record

log = structlog.get_logger(__name__)
PURPOSE = "second factor"
STEP_SECONDS = 30
# A clock may be one step wrong in either direction.
STEPS = (-1, 0, 1)
RECOVERY_CODES = 10


def new_secret() -> str:
    """160 random bits in base32, as authenticator apps take them."""
    return pyotp.random_base32(32)


def address_of_secret(user: User, secret: str) -> str:
    """What the QR code holds: `otpauth://totp/…`."""
    return pyotp.TOTP(secret).provisioning_uri(name=user.email, issuer_name="Offpeak")


def _step_of(secret: str, code: str, now: datetime) -> int | None:
    """The step of the clock that this code belongs to; None for a wrong one."""
    current, totp = int(now.timestamp()) // STEP_SECONDS, pyotp.TOTP(secret)
    found = None
    for step in (current + offset for offset in STEPS):
        if hmac.compare_digest(totp.generate_otp(step), code):
            found = step
    return found


def _plain_code(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()


def _hash(code: str) -> str:
    return hashlib.sha256(_plain_code(code).encode()).hexdigest()


def _new_codes(user: User) -> list[str]:
    """Ten recovery codes in place of those before."""
    RecoveryCode.objects.filter(user=user).delete()
    plain = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _n in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, code_hash=_hash(code)) for code in plain)
    return ["-".join(code[at : at + 4] for at in range(0, 16, 4)) for code in plain]


def _record(user: User, actor: Actor, action: str, **after: object) -> None:
    """One entry in the trail of each organisation of the person: it is their account everywhere."""
    for membership in user.memberships.select_related("organisation"):
        audit_record(
            organisation=membership.organisation,
            actor=actor,
            action=f"second_factor.{action}",
            target=user,
            after={"email": user.email, **after},
        )


@transaction.atomic
def second_factor_enrol(*, user: User, secret: str, code: str, now: datetime) -> list[str]:
    """Keep the secret once a code proves that the app has it; the recovery codes, shown this once.

    Raises ValidationError for a wrong code, and for somebody who has a second factor already.
    """
    User.objects.select_for_update().get(pk=user.pk)
    if SecondFactor.objects.filter(user=user).exists():
        raise ValidationError(_("You have a second factor already."))
    step = _step_of(secret, _plain_code(code), now)
    if step is None:
        raise ValidationError({"code": _("This code is wrong. Check that the clock of the device is right.")})
    SecondFactor.objects.create(user=user, secret=seal(secret, purpose=PURPOSE), last_step=step)
    codes = _new_codes(user)
    _record(user, Actor.of_user(user), "enrol")
    return codes


@transaction.atomic
def second_factor_passes(*, user: User, code: str, now: datetime) -> bool:
    """Whether this is the person's code, or one of their recovery codes: each passes once."""
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is None:
        return False
    plain = _plain_code(code)
    if len(plain) == 6 and plain.isascii() and plain.isdecimal():
        return _clock_code_passes(factor, plain, now)
    mine = RecoveryCode.objects.filter(user=user, code_hash=_hash(plain), used_at=None)
    if mine.update(used_at=now) != 1:
        return False
    left = RecoveryCode.objects.filter(user=user, used_at=None).count()
    _record(user, Actor.of_user(user), "recovery_code", left=left)
    return True


def _clock_code_passes(factor: SecondFactor, code: str, now: datetime) -> bool:
    try:
        secret = unseal(factor.secret, purpose=PURPOSE)
    except SealBrokenError:
        # A backup that was restored into a home with another key: recovery codes and a reset still work.
        log.error("second_factor_unreadable", user=factor.user_id)
        return False
    step = _step_of(secret, code, now)
    if step is None:
        return False
    return SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step) == 1


@transaction.atomic
def recovery_codes_renew(*, user: User, code: str, now: datetime) -> list[str]:
    """Ten new recovery codes, shown this once; those before are void. Raises ValidationError."""
    _prove(user, code, now)
    codes = _new_codes(user)
    _record(user, Actor.of_user(user), "new_codes")
    return codes


@transaction.atomic
def second_factor_remove(*, user: User, code: str, now: datetime) -> None:
    """Sign in without it from now on. Raises ValidationError: a wrong code, or an organisation needs it."""
    needs = Organisation.objects.filter(memberships__user=user, second_factor_required=True).first()
    if needs is not None:
        raise ValidationError(_("%(name)s asks everybody for a second factor.") % {"name": needs.name})
    _prove(user, code, now)
    _drop(user)
    _record(user, Actor.of_user(user), "remove")


def _prove(user: User, code: str, now: datetime) -> None:
    if not second_factor_passes(user=user, code=code, now=now):
        raise ValidationError({"code": _("This code is wrong or was used already.")})


def _drop(user: User) -> bool:
    RecoveryCode.objects.filter(user=user).delete()
    return bool(SecondFactor.objects.filter(user=user).delete()[0])


@transaction.atomic
def member_second_factor_reset(*, membership: Membership, actor: Actor) -> bool:
    """Take away a member's second factor where the device is lost; False where there is none.

    Raises ValidationError for somebody of another organisation too: this one's admin must not weaken that
    account.
    """
    user = membership.user
    if user.memberships.exclude(pk=membership.pk).exists():
        raise ValidationError(
            _("%(who)s belongs to another organisation too; only the operator may do this.")
            % {"who": user.email}
        )
    return _reset(user, actor)


@transaction.atomic
def operator_second_factor_reset(*, email: str, actor: Actor) -> bool:
    """The same for whoever has this address. Raises ValidationError."""
    user = User.objects.filter(email=email.strip()).first()
    if user is None:
        raise ValidationError({"email": _("Nobody has this address.")})
    return _reset(user, actor)


def _reset(user: User, actor: Actor) -> bool:
    if not _drop(user):
        return False
    _record(user, actor, "reset")
    return True


@transaction.atomic
def second_factor_require(*, organisation: Organisation, required: bool, actor: Actor) -> Organisation:
    """Ask everybody who signs in here with a password for a second factor, or no longer."""
    organisation = Organisation.objects.select_for_update().get(pk=organisation.pk)
    if organisation.second_factor_required != required:
        organisation.second_factor_required = required
        organisation.save(update_fields=["second_factor_required"])
        audit_record(
            organisation=organisation,
            actor=actor,
            action="organisation.second_factor",
            target=organisation,
            before={"required": not required},
            after={"required": required},
        )
    return organisation
