"""What each role and each key scope may do: two tables of data and one question, `allowed`.

A new action is a line in `Action` and its place in `ROLE_ACTIONS`; a view or endpoint names the action it
needs and never compares roles itself. Engineer and finance are two sets, not two levels: an engineer runs
work, finance approves money.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from apps.accounts.models import Membership


class Role(models.TextChoices):
    """A member's role in one organisation."""

    VIEWER = "viewer", _("Viewer")
    ENGINEER = "engineer", _("Engineer")
    FINANCE = "finance", _("Finance")
    ADMIN = "admin", _("Admin")


class Action(StrEnum):
    """Everything that a role can be asked about."""

    VIEW = "view"  # read every page and answer of the organisation, export them
    RUN_ADVICE = "run_advice"  # ask for advice and back-tests
    MANAGE_WORKLOADS = "manage_workloads"  # create, change, delete workloads
    LOAD_DATA = "load_data"  # upload files to ingest
    LOAD_PATH = "load_path"  # name a path on the server below IMPORT_ROOTS
    MANAGE_FEEDS = "manage_feeds"  # create, change, pause, run feeds
    CONNECT_BILLS = "connect_bills"  # feeds of bills, account names, exchange rates, invoice totals
    MANAGE_BUDGETS = "manage_budgets"  # budgets, allocation, discounts
    MANAGE_ANOMALIES = "manage_anomalies"  # snooze, close and reopen anomalies of cost
    MANAGE_REPORTS = "manage_reports"  # subscriptions, channels of alerts, snoozing and sending again
    DECIDE = "decide"  # accept, snooze, dismiss recommendations of some kind; which, the next two say
    DECIDE_WORK = "decide_work"  # those about workloads and resources
    DECIDE_COMMITMENTS = "decide_commitments"  # those to buy or sell commitments
    LAUNCH = "launch"  # plan launches and start approved ones
    APPROVE_SPEND = "approve_spend"  # approve launches and purchases
    VIEW_AUDIT = "view_audit"  # read the audit trail
    MANAGE_KEYS = "manage_keys"  # create and revoke API keys
    MANAGE_MEMBERS = "manage_members"  # invite, change roles, remove members, teams
    MANAGE_ORGANISATION = "manage_organisation"  # the organisation's own settings


ROLE_ACTIONS: dict[Role, frozenset[Action]] = {
    Role.VIEWER: frozenset({Action.VIEW, Action.RUN_ADVICE}),
    Role.ENGINEER: frozenset(
        {
            Action.VIEW,
            Action.RUN_ADVICE,
            Action.MANAGE_WORKLOADS,
            Action.LOAD_DATA,
            Action.MANAGE_FEEDS,
            Action.CONNECT_BILLS,
            Action.MANAGE_ANOMALIES,
            Action.MANAGE_REPORTS,
            Action.DECIDE,
            Action.DECIDE_WORK,
            Action.LAUNCH,
        }
    ),
    Role.FINANCE: frozenset(
        {
            Action.VIEW,
            Action.RUN_ADVICE,
            Action.CONNECT_BILLS,
            Action.MANAGE_BUDGETS,
            Action.MANAGE_ANOMALIES,
            Action.MANAGE_REPORTS,
            Action.DECIDE,
            Action.DECIDE_COMMITMENTS,
            Action.APPROVE_SPEND,
            Action.VIEW_AUDIT,
        }
    ),
    Role.ADMIN: frozenset(Action),
}


class Scope(StrEnum):
    """What an API key may be given; a key does what its scopes name and nothing else."""

    READ_PRICES = "read:prices"
    READ_INGEST = "read:ingest"
    WRITE_INGEST = "write:ingest"
    READ_BILLS = "read:bills"
    WRITE_BILLS = "write:bills"
    READ_ADVICE = "read:advice"
    WRITE_RECOMMENDATIONS = "write:recommendations"
    READ_WORKLOADS = "read:workloads"
    WRITE_WORKLOADS = "write:workloads"
    READ_REPORTS = "read:reports"
    WRITE_REPORTS = "write:reports"
    READ_LAUNCHES = "read:launches"
    WRITE_LAUNCHES = "write:launches"
    READ_AUDIT = "read:audit"


SCOPE_WORDS = {
    Scope.READ_PRICES: _("Read prices, profiles and data quality"),
    Scope.READ_INGEST: _("Read ingest runs and rejected rows"),
    Scope.WRITE_INGEST: _("Upload files to ingest"),
    Scope.READ_BILLS: _("Read bills, spend and budgets"),
    Scope.WRITE_BILLS: _("Upload bills, change allocation and budgets"),
    Scope.READ_ADVICE: _("Ask for advice and back-tests"),
    Scope.WRITE_RECOMMENDATIONS: _("Accept, snooze and dismiss recommendations"),
    Scope.READ_WORKLOADS: _("Read workloads"),
    Scope.WRITE_WORKLOADS: _("Create and change workloads"),
    Scope.READ_REPORTS: _("Read weekly reports and alerts"),
    Scope.WRITE_REPORTS: _("Change subscriptions and channels, send reports, record bounces"),
    Scope.READ_LAUNCHES: _("Read plans and launches"),
    Scope.WRITE_LAUNCHES: _("Plan and cancel launches"),
    Scope.READ_AUDIT: _("Read the audit trail"),
}


def allowed(membership: Membership | None, action: Action) -> bool:
    """Whether this member may do `action`; without a membership or with a disabled account: nothing."""
    if membership is None or not membership.user.is_active:
        return False
    return action in ROLE_ACTIONS[Role(membership.role)]


def who_may(action: Action) -> list[Role]:
    """The roles that hold `action`, in the order of `Role`: for the sentence on a not-allowed page."""
    return [role for role in Role if action in ROLE_ACTIONS[role]]
