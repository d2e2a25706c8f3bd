"""Pages."""

from django.urls import URLPattern, path

from apps.dashboard.views import (
    allocation,
    bill_changes,
    data,
    home,
    market,
    run,
    settings,
    spend,
    tags,
    workloads,
)

app_name = "dashboard"
urlpatterns: list[URLPattern] = [
    path("", home.home, name="home"),
    path("spend/", spend.spend_page, name="spend"),
    path("spend/allocation/", allocation.allocation_page, name="allocation"),
    path("spend/allocation/try/", allocation.rule_try, name="allocation-try"),
    path("spend/allocation/rules/", allocation.rule_keep, name="allocation-keep"),
    path("spend/allocation/rules/<int:rule_id>/remove/", allocation.rule_drop, name="allocation-remove"),
    path("spend/allocation/teams/", allocation.team_add, name="allocation-team"),
    path("spend/changes/", bill_changes.changes_page, name="spend-changes"),
    path("spend/tags/", tags.tags_page, name="spend-tags"),
    path("spend/lines/", spend.lines_page, name="spend-lines"),
    path("spend/views/", spend.view_keep, name="spend-view-keep"),
    path("spend/views/<int:view_id>/remove/", spend.view_drop, name="spend-view-remove"),
    path("market/", market.market_page, name="market"),
    path("run/", run.run_page, name="run"),
    path("run/workloads/", workloads.workload_keep, name="workload-keep"),
    path("run/workloads/<int:workload_id>/remove/", workloads.workload_drop, name="workload-remove"),
    path("data/", data.data_page, name="data"),
    path("data/runs/", data.runs_region, name="data-runs"),
    path("data/runs/<int:run_id>/", data.run_detail, name="data-run"),
    path("data/upload/", data.upload, name="data-upload"),
    path("data/path/", data.load_path, name="data-path"),
    path("data/feeds/", data.feed_add, name="feed-add"),
    path("data/feeds/<int:feed_id>/switch/", data.feed_switch, name="feed-switch"),
    path("settings/", settings.settings_page, name="settings"),
    path("settings/profile/", settings.profile_save, name="profile-save"),
    path("settings/appearance/", home.appearance, name="appearance"),
    path("settings/keys/", settings.key_create, name="key-create"),
    path("settings/keys/<int:key_id>/revoke/", settings.key_revoke, name="key-revoke"),
    path("settings/members/", settings.member_add, name="member-add"),
    path("settings/members/<int:member_id>/link/", settings.member_new_link, name="member-link"),
    path("settings/members/<int:member_id>/role/", settings.member_role, name="member-role"),
    path("settings/members/<int:member_id>/remove/", settings.member_drop, name="member-remove"),
    path("settings/audit/", settings.audit_page, name="audit"),
]
