"""Reading advice that was given."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation
from apps.recommendations.models import Advice


def advice_visible(*, organisation: Organisation) -> QuerySet[Advice]:
    """An organisation's own advice and that of the command line, newest first."""
    return Advice.objects.filter(Q(organisation=organisation) | Q(organisation__isnull=True))
