"""Writes of the accounts app; each leaves a row in the audit trail."""

from apps.accounts.services.audit import audit_record
from apps.accounts.services.keys import api_key_create, api_key_revoke, api_key_used
from apps.accounts.services.members import (
    Invitation,
    demo_user_ensure,
    member_invite,
    member_link,
    member_remove,
    member_role_change,
    operator_link,
    organisation_choose,
    password_link,
    user_preferences_update,
)
from apps.accounts.services.second_factor import (
    member_second_factor_reset,
    operator_second_factor_reset,
    recovery_codes_renew,
    second_factor_enrol,
    second_factor_passes,
    second_factor_remove,
    second_factor_require,
)
from apps.accounts.services.teams import team_create, team_member_add, team_member_remove

__all__ = [
    "Invitation",
    "api_key_create",
    "api_key_revoke",
    "api_key_used",
    "audit_record",
    "demo_user_ensure",
    "member_invite",
    "member_link",
    "member_remove",
    "member_role_change",
    "member_second_factor_reset",
    "operator_link",
    "operator_second_factor_reset",
    "organisation_choose",
    "password_link",
    "recovery_codes_renew",
    "second_factor_enrol",
    "second_factor_passes",
    "second_factor_remove",
    "second_factor_require",
    "team_create",
    "team_member_add",
    "team_member_remove",
    "user_preferences_update",
]
