"""What a provider or a job said, as it is kept and shown on pages, in mails and to webhooks."""

from __future__ import annotations

from finops.redact import redact

MOST = 1000


def said(message: object) -> str:
    """Without the secrets that it may repeat, so long at most."""
    return redact(str(message))[:MOST]
