"""Doors for Celery: ids in, one service call."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.billing.services import watch
from apps.billing.services.spend_sums import spend_sums_make


@shared_task(name="billing.bills_judge_new")
def bills_judge_new() -> None:
    """Hand out every organisation; one whose bills are as they were costs a look."""
    for organisation_id in watch.organisations_judged():
        bills_judge.delay(organisation_id)


@shared_task(name="billing.bills_judge", acks_late=True)
def bills_judge(organisation_id: int) -> None:
    """Judge one organisation's bills; harmless when it runs twice or beside itself."""
    organisation = Organisation.objects.filter(pk=organisation_id).first()
    if organisation is not None:
        watch.bills_judge(organisation=organisation, now=timezone.now())


@shared_task(name="billing.spend_sums_make")
def bill_sums_make() -> None:
    """Have the sums of new bills ready for questions; a second one beside it finds the lock taken."""
    spend_sums_make()
