"""Secrets that must be readable again are kept encrypted with the installation's key (SECRET_KEY).

A new SECRET_KEY opens what an older one closed as long as that one stands in SECRET_KEY_FALLBACKS.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class SealBrokenError(Exception):
    """Closed with a key that this installation does not have, or changed since."""


def _fernet(purpose: str) -> MultiFernet:
    """Ciphers of this purpose, the current key first: what one purpose closed opens under no other."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    derived = [
        HKDF(algorithm=SHA256(), length=32, salt=None, info=f"offpeak {purpose}".encode()).derive(
            str(key).encode()
        )
        for key in keys
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in derived])


def seal(text: str, *, purpose: str) -> str:
    """The text encrypted and signed."""
    return _fernet(purpose).encrypt(text.encode()).decode()


def unseal(closed: str, *, purpose: str) -> str:
    """The text. Raises SealBrokenError."""
    try:
        return _fernet(purpose).decrypt(closed.encode()).decode()
    except InvalidToken as error:
        raise SealBrokenError(purpose) from error
