"""`send_report`: write a subscription's report of a week and send it, or only show it."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.selectors.spend import SpendError, SpendRefusedError
from apps.reports.models import Delivery, Report, Subscription
from apps.reports.selectors.reports import delivery_document
from apps.reports.services.composing import compose
from apps.reports.services.deliveries import deliver_due
from apps.reports.services.reports import last_week, report_make, subscription_of
from finops.engine.spend import Week
from finops.engine.weekly import WeekError, week_named
from finops.verbs import JsonCommand, error_document

EXIT_USAGE, EXIT_REFUSED = 2, 3


class Command(JsonCommand):
    """A week has one report a subscription: a second call sends what the first could not, never again what it
    could.
    """

    help = "Write a weekly report and send it; --dry-run shows it and keeps nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which subscription, which week."""
        parser.add_argument("--subscription", type=int, required=True, help=_("its id"))
        parser.add_argument("--week", help=_("an ISO week like 2018-W47; default: the last one that is over"))
        parser.add_argument("--dry-run", action="store_true", help=_("show it; keep and send nothing"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Write, send, print."""
        row = subscription_of(None, options["subscription"])
        if row is None:
            self._refuse("subscription", _("There is no such subscription."), EXIT_USAGE, options)
        now = timezone.now()
        try:
            week = week_named(options["week"]) if options["week"] else last_week(row, now)
            if week.last >= now.date():
                self._refuse(
                    "week", _("The week %(week)s is not over.") % {"week": week.label}, EXIT_USAGE, options
                )
            document = self._dry(row, week, now) if options["dry_run"] else self._send(row, week, now)
        except WeekError:
            told = _("Not an ISO week like 2018-W47: %(text)s") % {"text": str(options["week"])[:20]}
            self._refuse("week", told, EXIT_USAGE, options)
        except SpendError as error:
            code = EXIT_REFUSED if isinstance(error, SpendRefusedError) else EXIT_USAGE
            self._refuse(error.field, error.message, code, options)
        if options["json"]:
            self.document(document)
        else:
            self._show(document)

    def _dry(self, row: Subscription, week: Week, now: Any) -> dict[str, Any]:
        made = compose(row, week=week, now=now)
        wanted = row.recipients.filter(unsubscribed_at__isnull=True, refused_at__isnull=True)
        return {
            **made.document,
            "dry_run": True,
            "report": None,
            "new": True,
            "recipients": list(wanted.values_list("email", flat=True)),
            "html_bytes": len(made.html.encode()),
            "html": made.html,
            "text": made.text,
            "attachments": [{"name": one.name, "bytes": len(one.body)} for one in made.files],
            "deliveries": [],
        }

    def _send(self, row: Subscription, week: Week, now: Any) -> dict[str, Any]:
        report, new = report_make(subscription=row, week=week, now=now)
        handed = deliver_due(now=timezone.now(), report=report)
        kept = Report.objects.get(pk=report.pk)
        rows = list(Delivery.objects.filter(report=report))
        return {
            **kept.document,
            "dry_run": False,
            "report": kept.pk,
            "new": new,
            "recipients": [one.email for one in rows],
            "html_bytes": len(kept.html.encode()),
            "text": kept.text,
            "attachments": [
                {"name": one.name, "bytes": len(one.body)} for one in kept.attachments.order_by("pk")
            ],
            "sent": handed,
            "deliveries": [delivery_document(one) for one in rows],
            "mail_server": settings.MAIL_IS_SET,
        }

    def _show(self, document: dict[str, Any]) -> None:
        self.stdout.write(f"{document['subject']}\n\n{document['text']}")
        for one in document["deliveries"]:
            self.stderr.write(f"{one['email']}  {one['state']}  {one['error'] or ''}")

    def _refuse(self, field: str, message: str, code: int, options: dict[str, Any]) -> NoReturn:
        if options["json"]:
            self.document(error_document(message, field))
        self.stderr.write(f"--{field}: {message}")
        sys.exit(code)
