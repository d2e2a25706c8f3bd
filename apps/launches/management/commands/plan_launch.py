"""`plan_launch`: when, where, what, in which market and what it will cost; waits for its approval."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.selectors import member_list
from apps.launches.management.launch_text import plan_line
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.models import LaunchTarget, Preemption
from apps.launches.selectors.plans import plan_detail, target_list
from apps.launches.services.planning import plan_draft, plan_make
from apps.launches.services.trials import plan_trial
from apps.launches.services.wishes import wish_of
from apps.recommendations.management.commands.advise_launch import FIELDS, add_workload_arguments
from apps.recommendations.management.verb import decimal, moment

OWN = (
    "target", "gang", "name", "workload", "start", "start_minutes", "priority", "preemption", "clock",
    "user_data", "command", "image", "max_price", "checkpoint_location", "checkpoint_marker", "attempts",
    "budget",
    "reason", "request_key",
)  # fmt: skip


class Command(LaunchVerb):
    """The plan as it is kept; --dry-run keeps nothing."""

    help = "Plan a launch from the product's own advice; it waits for its approval."

    def add_arguments(self, parser: CommandParser) -> None:
        """The work, and how it is launched."""
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        add_workload_arguments(parser)
        parser.add_argument("--provider")
        parser.add_argument("--at", type=moment, help=_("decision time, with --dry-run only"))
        parser.add_argument("--target", help=_("where it runs; default: the only one there is"))
        parser.add_argument("--name", default="")
        parser.add_argument("--team")
        parser.add_argument("--owner", help=_("e-mail address of a member"))
        parser.add_argument("--start", type=moment, help=_("first due time; default: as advised"))
        parser.add_argument("--start-minutes", type=int, help=_("how late it may start; default 60"))
        parser.add_argument("--priority", type=int)
        parser.add_argument("--gang", action="store_true", default=None, help=_("all machines or none"))
        parser.add_argument("--preemption", choices=Preemption.values)
        parser.add_argument("--clock", help=_("local due time of repeating work, 22:00"))
        for name in ("--user-data", "--command", "--image", "--checkpoint-location", "--checkpoint-marker"):
            parser.add_argument(name)
        parser.add_argument("--max-price", type=decimal, help=_("cap of a Spot machine's hour"))
        parser.add_argument("--attempts", type=int)
        parser.add_argument("--budget", type=decimal, help=_("what one turn may cost in the worst case"))
        parser.add_argument("--reason")
        parser.add_argument("--request-key", help=_("the same key again gives the same plan"))
        parser.add_argument("--dry-run", action="store_true", help=_("keep nothing"))
        parser.add_argument(
            "--try", dest="try_call", action="store_true", help=_("ask the place about the first call")
        )

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"plan"}`."""
        if options["at"] is not None and not options["dry_run"]:
            raise ValidationError({"at": _("Only with --dry-run: a plan is made for now.")})
        if options["try_call"] and options["dry_run"]:
            raise ValidationError({"try": _("Its answer is kept: not with --dry-run.")})
        if options["done_by"] is not None:
            raise ValidationError({"done_by": _("A plan starts by its clock: give --clock.")})
        given = {name: options[name] for name in (*FIELDS, *OWN) if options.get(name) is not None}
        given |= {"repeat": options["repeat"] or "", "timezone": options["timezone"] or ""}
        given.pop("at", None)
        given["name"] = given.get("name") or str(options["workload"] or "Launch")
        owner = None
        if options["owner"]:
            member = member_list(organisation).filter(user__email__iexact=options["owner"]).first()
            if member is None:
                raise ValidationError({"owner": _("No member of this organisation.")})
            owner = member.user
        target = None
        if options["dry_run"] and not options["target"] and not target_list(organisation).exists():
            target = LaunchTarget(organisation=organisation, name="-", executor="aws")
        wish = wish_of(
            given, organisation=organisation, team=self.team(organisation, options["team"]), owner=owner,
            target=target,
        )  # fmt: skip
        make = plan_draft if options["dry_run"] else plan_make
        plan = make(
            organisation=organisation, actor=Actor.system("command line"), wish=wish, now=options["at"] or now
        )
        if options["try_call"]:
            plan = plan_trial(plan=plan, actor=Actor.system("command line"), now=now)
        return {"plan": plan_detail(plan), "stored": plan.pk is not None}

    def show(self, document: dict[str, Any]) -> None:
        """A line, and why."""
        self.stdout.write(plan_line(document["plan"]))
        for text in (document["plan"]["sentence"], document["plan"]["high_is"]):
            if text:
                self.stdout.write(f"        {text}")
