"""REST endpoints, version 1.

To add one: a view in `apps/api/views/<area>.py` (accounts.py is the model) and a line in its area's list
here. What it needs (role action, key scope, query, body, answer) is declared in the view; tests/apps/api
walks this list.
"""

from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, path, re_path, register_converter
from django.views.decorators.csrf import csrf_exempt

from apps.api.converters import IdConverter
from apps.api.errors import missing
from apps.api.views import (
    accounts,
    advice,
    alerts,
    allocation,
    bill_tables,
    bills,
    budgets,
    bursts,
    check_policies,
    commitments,
    cost_checks,
    deals,
    device_work,
    document,
    expected,
    feeds,
    focus,
    ingest,
    launch_settings,
    launches,
    machines,
    members,
    pools,
    price_file,
    prices,
    purchases,
    recommendations,
    reports,
    saved,
    schedules,
    second_factor,
    spend,
    storage,
    storage_files,
    storage_prices,
    waste,
    workloads,
)

register_converter(IdConverter, "id")

app_name = "api"

accounts_urls = [
    path("me", accounts.Me.as_view(), name="me"),
    path("keys", accounts.Keys.as_view(), name="keys"),
    path("keys/<id:key_id>/revoke", accounts.RevokeKey.as_view(), name="key-revoke"),
    path("members", members.Members.as_view(), name="members"),
    path("members/<id:member_id>", members.OneMember.as_view(), name="member"),
    path(
        "members/<id:member_id>/second-factor/reset",
        second_factor.MemberSecondFactor.as_view(),
        name="member-second-factor-reset",
    ),
    path("second-factor", second_factor.OrganisationSecondFactor.as_view(), name="second-factor"),
    path("members/<id:member_id>/link", members.MemberLink.as_view(), name="member-link"),
    path("audit", accounts.Audit.as_view(), name="audit"),
    path("audit/chain", accounts.AuditChain.as_view(), name="audit-chain"),
    path("audit/entries", accounts.SealedEntries.as_view(), name="audit-entries"),
]
ingest_urls = [
    path("ingest/prices", ingest.LoadPrices.as_view(), name="ingest-prices"),
    path("ingest/runs", ingest.Runs.as_view(), name="ingest-runs"),
    path("ingest/runs/<id:run_id>", ingest.Run.as_view(), name="ingest-run"),
    path("ingest/runs/<id:run_id>/rejections", ingest.Rejections.as_view(), name="ingest-rejections"),
]
feeds_urls = [
    path("feeds", feeds.Feeds.as_view(), name="feeds"),
    path("feeds/bills", feeds.BillFeeds.as_view(), name="bill-feeds"),
    path("feeds/storage", feeds.StorageFeeds.as_view(), name="storage-feeds"),
    path("feeds/spot-prices", feeds.PriceFeeds.as_view(), name="price-feeds"),
    path("feeds/<id:feed_id>", feeds.OneFeed.as_view(), name="feed"),
    path("feeds/<id:feed_id>/collect", feeds.CollectFeed.as_view(), name="feed-collect"),
    path("feeds/<id:feed_id>/check", feeds.CheckFeed.as_view(), name="feed-check"),
    path("feeds/<id:feed_id>/deliveries", feeds.FeedDeliveries.as_view(), name="feed-deliveries"),
    path("feeds/<id:feed_id>/account-names", feeds.FeedNames.as_view(), name="feed-names"),
]
bills_urls = [
    path("bills", bills.LoadBill.as_view(), name="bills"),
    path("bills/changes", bills.Changes.as_view(), name="bill-changes"),
    path("bills/deliveries", bills.Deliveries.as_view(), name="deliveries"),
    path("bills/deliveries/<id:delivery_id>", bills.OneDelivery.as_view(), name="delivery"),
    path(
        "bills/deliveries/<id:delivery_id>/invoice",
        bills.DeliveryInvoice.as_view(),
        name="delivery-invoice",
    ),
]
prices_urls = [
    path("prices", prices.Prices.as_view(), name="prices"),
    path("run-cost", prices.RunCost.as_view(), name="run-cost"),
    path("profile", prices.Profile.as_view(), name="profile"),
]
advice_urls = [
    path("advice/launch", advice.LaunchAdvice.as_view(), name="advice-launch"),
    path("backtests/launch", advice.LaunchBacktest.as_view(), name="backtest-launch"),
]
cost_check_urls = [
    path("cost-checks", cost_checks.CostChecks.as_view(), name="cost-checks"),
    path("cost-checks/<id:check_id>", cost_checks.OneCostCheck.as_view(), name="cost-check"),
    path("price-file", price_file.PriceFile.as_view(), name="price-file"),
    path("check-policies", check_policies.CheckPolicies.as_view(), name="check-policies"),
    path("check-policies/<id:policy_id>", check_policies.OneCheckPolicy.as_view(), name="check-policy"),
]
launches_urls = [
    path("launch-plans", launches.Plans.as_view(), name="launch-plans"),
    path("launch-plans/<id:plan_id>", launches.OnePlan.as_view(), name="launch-plan"),
    path("launch-plans/<id:plan_id>/approve", launches.ApprovePlan.as_view(), name="launch-plan-approve"),
    path("launch-plans/<id:plan_id>/try", launches.TryPlan.as_view(), name="launch-plan-try"),
    path("launch-plans/<id:plan_id>/cancel", launches.CancelPlan.as_view(), name="launch-plan-cancel"),
    path("launches", launches.Launches.as_view(), name="launches"),
    path("launches/calendar", launches.LaunchCalendar.as_view(), name="launch-calendar"),
    path("launches/freeze", launch_settings.Freeze.as_view(), name="launches-freeze"),
    path("launches/<id:launch_id>", launches.OneLaunch.as_view(), name="launch"),
    path("launches/<id:launch_id>/cancel", launches.CancelLaunch.as_view(), name="launch-cancel"),
    path("launches/<id:launch_id>/raise", launches.RaiseLaunch.as_view(), name="launch-raise"),
    path("launch-limits", launch_settings.LaunchLimits.as_view(), name="launch-limits"),
    path("launch-bursts", bursts.Bursts.as_view(), name="launch-bursts"),
    path("launch-bursts/<id:burst_id>", bursts.OneBurst.as_view(), name="launch-burst"),
    path("launch-bursts/<id:burst_id>/off", bursts.BurstOff.as_view(), name="launch-burst-off"),
    path("launch-budgets", launch_settings.LaunchBudgets.as_view(), name="launch-budgets"),
    path("launch-rules", launch_settings.LaunchRules.as_view(), name="launch-rules"),
    path("launch-budgets/<id:budget_id>", launch_settings.OneLaunchBudget.as_view(), name="launch-budget"),
    path("launch-rules/<id:rule_id>", launch_settings.OneLaunchRule.as_view(), name="launch-rule"),
    path("launch-rules/<id:rule_id>/off", launch_settings.LaunchRuleOff.as_view(), name="launch-rule-off"),
    path("launch-targets", launch_settings.LaunchTargets.as_view(), name="launch-targets"),
    path("launch-targets/<id:target_id>", launch_settings.OneLaunchTarget.as_view(), name="launch-target"),
    path("launches/<id:launch_id>/machine", machines.MachineLaunch.as_view(), name="machine"),
    path(
        "launches/<id:launch_id>/checkpoints",
        machines.MachineCheckpoint.as_view(),
        name="machine-checkpoints",
    ),
    path("launches/<id:launch_id>/notices", machines.MachineNotice.as_view(), name="machine-notices"),
    path("launches/<id:launch_id>/finish", machines.MachineFinish.as_view(), name="machine-finish"),
]
spend_urls = [
    path("spend", spend.Spend.as_view(), name="spend"),
    path("spend/views", saved.Views.as_view(), name="spend-views"),
    path("spend/views/<id:view_id>", saved.OneView.as_view(), name="spend-view"),
    path("teams", saved.Teams.as_view(), name="teams"),
    path("spend/compare", spend.SpendComparison.as_view(), name="spend-compare"),
    path("exports/focus", focus.FocusExport.as_view(), name="export-focus"),
    path("spend/tags", allocation.TagHygiene.as_view(), name="spend-tags"),
    path("allocation/rules", allocation.Rules.as_view(), name="allocation-rules"),
    path("allocation/rules/<id:rule_id>", allocation.OneRule.as_view(), name="allocation-rule"),
    path("allocation/dry-run", allocation.Trial.as_view(), name="allocation-dry-run"),
]
bill_tables_urls = [
    path("rates", bill_tables.Rates.as_view(), name="rates"),
    path("rates/import", bill_tables.ImportRates.as_view(), name="rates-import"),
    path("rates/<id:rate_id>", bill_tables.OneRate.as_view(), name="rate"),
    path("exchange-rates", bill_tables.ExchangeRates.as_view(), name="exchange-rates"),
    path("exchange-rates/import", bill_tables.ImportExchangeRates.as_view(), name="exchange-rates-import"),
    path("exchange-rates/convert", bill_tables.ConvertAmount.as_view(), name="exchange-rates-convert"),
    path("exchange-rates/<id:rate_id>", bill_tables.OneExchangeRate.as_view(), name="exchange-rate"),
    path("expected-totals", expected.ExpectedTotals.as_view(), name="expected-totals"),
    path("expected-totals/import", expected.ImportExpectedTotals.as_view(), name="expected-totals-import"),
    path("expected-totals/<id:total_id>", expected.OneExpectedTotal.as_view(), name="expected-total"),
    path("account-names", bill_tables.AccountNames.as_view(), name="account-names"),
    path("account-names/import", bill_tables.ImportAccountNames.as_view(), name="account-names-import"),
]
budgets_urls = [
    path("forecast", budgets.Forecast.as_view(), name="forecast"),
    path("budgets", budgets.Budgets.as_view(), name="budgets"),
    path("budgets/<id:budget_id>", budgets.OneBudget.as_view(), name="budget"),
    path("anomalies", budgets.Anomalies.as_view(), name="anomalies"),
    path("anomalies/<id:anomaly_id>/snooze", budgets.SnoozeAnomaly.as_view(), name="anomaly-snooze"),
    path("anomalies/<id:anomaly_id>/close", budgets.CloseAnomaly.as_view(), name="anomaly-close"),
    path("anomalies/<id:anomaly_id>/reopen", budgets.ReopenAnomaly.as_view(), name="anomaly-reopen"),
]
recommendations_urls = [
    path("recommendations", recommendations.Inbox.as_view(), name="recommendations"),
    path("recommendations/decide", recommendations.Many.as_view(), name="recommendations-decide"),
    path(
        "recommendations/<id:recommendation_id>",
        recommendations.OneRecommendation.as_view(),
        name="recommendation",
    ),
    *(
        path(f"recommendations/<id:recommendation_id>/{verb}", view.as_view(), name=f"recommendation-{verb}")
        for verb, view in (
            ("accept", recommendations.Accept),
            ("done", recommendations.Done),
            ("dismiss", recommendations.Dismiss),
            ("snooze", recommendations.Snooze),
            ("reopen", recommendations.Reopen),
            ("owner", recommendations.Assign),
        )
    ),
]
workloads_urls = [
    path("workloads", workloads.Workloads.as_view(), name="workloads"),
    path("workloads/<id:workload_id>", workloads.OneWorkload.as_view(), name="workload"),
    path("workloads/<id:workload_id>/advice", workloads.WorkloadAdvice.as_view(), name="workload-advice"),
    path(
        "workloads/<id:workload_id>/occurrences",
        workloads.Occurrences.as_view(),
        name="workload-occurrences",
    ),
]
deals_urls = [
    path("deals", deals.Deals.as_view(), name="deals"),
    path("deals/offers/<id:offer_id>", deals.OneOffer.as_view(), name="deal-offer"),
    path("deals/history", deals.DealHistory.as_view(), name="deal-history"),
    path("deals/claim", deals.DealClaim.as_view(), name="deal-claim"),
    path("deals/sales", deals.Sales.as_view(), name="deal-sales"),
    path("deals/rules", deals.DealRules.as_view(), name="deal-rules"),
    path("deals/rules/<id:rule_id>", deals.OneDealRule.as_view(), name="deal-rule"),
    path("deals/alerts", deals.DealAlerts.as_view(), name="deal-alerts"),
    path("deals/alerts/<id:alert_id>/seen", deals.SeenDealAlert.as_view(), name="deal-alert-seen"),
]
commitments_urls = [
    path("commitments", commitments.Commitments.as_view(), name="commitments"),
    path("commitments/hours", commitments.CommitmentHours.as_view(), name="commitment-hours"),
    path("commitments/demand", commitments.Demand.as_view(), name="commitment-demand"),
    path("commitments/import", commitments.ImportCommitments.as_view(), name="commitments-import"),
]
waste_urls = [
    path("waste", waste.WasteAdvice.as_view(), name="waste"),
    path("waste/rules", waste.WasteRules.as_view(), name="waste-rules"),
    path("waste/clusters", waste.WasteClusters.as_view(), name="waste-clusters"),
    path("waste/metrics", waste.WasteMetrics.as_view(), name="waste-metrics"),
    path("waste/metrics/collect", waste.CollectMetrics.as_view(), name="waste-collect"),
    path("waste/settings", waste.WasteSettings.as_view(), name="waste-settings"),
    path("waste/settings/<id:setting_id>", waste.OneWasteSetting.as_view(), name="waste-setting"),
]
storage_urls = [
    path("storage/advice", storage.StorageAdvice.as_view(), name="storage-advice"),
    path("storage/checkpoints", storage.CheckpointCost.as_view(), name="storage-checkpoints"),
    path("storage/words", storage.StorageMarks.as_view(), name="storage-words"),
    path("storage/words/<id:mark_id>", storage.StorageMarkView.as_view(), name="storage-word"),
    path("storage/changes", storage.LifecycleChanges.as_view(), name="storage-changes"),
    path("storage/changes/<id:change_id>", storage.LifecycleChangeView.as_view(), name="storage-change"),
    path("storage/changes/<id:change_id>/approve", storage.ApproveChange.as_view(), name="change-approve"),
    path("storage/changes/<id:change_id>/dry-run", storage.TryChange.as_view(), name="change-dry-run"),
    path("storage/changes/<id:change_id>/cancel", storage.CancelChange.as_view(), name="change-cancel"),
    path("storage/changes/<id:change_id>/revert", storage.RevertChange.as_view(), name="change-revert"),
    path("storage/buckets", storage_files.StorageBuckets.as_view(), name="storage-buckets"),
    path("storage/imports", storage_files.LoadStorage.as_view(), name="storage-imports"),
    path("storage/prices", storage_prices.StoragePrices.as_view(), name="storage-prices"),
    path("storage/prices/place", storage_prices.PlacePrices.as_view(), name="storage-prices-place"),
    path("storage/prices/import", storage_prices.ImportStoragePrices.as_view(), name="storage-prices-import"),
    path("storage/prices/<id:price_id>", storage_prices.OneStoragePrice.as_view(), name="storage-price"),
    path("storage/accounts", storage.StorageAccounts.as_view(), name="storage-accounts"),
]
purchases_urls = [
    path("purchases", purchases.Purchases.as_view(), name="purchases"),
    path("purchases/<id:purchase_id>", purchases.OnePurchase.as_view(), name="purchase"),
    path("purchases/<id:purchase_id>/approve", purchases.ApprovePurchase.as_view(), name="purchase-approve"),
    path("purchases/<id:purchase_id>/dry-run", purchases.TryPurchase.as_view(), name="purchase-dry-run"),
    path("purchases/<id:purchase_id>/cancel", purchases.CancelPurchase.as_view(), name="purchase-cancel"),
    path("purchases/<id:purchase_id>/resolve", purchases.ResolvePurchase.as_view(), name="purchase-resolve"),
    path("buying-accounts", purchases.BuyingAccounts.as_view(), name="buying-accounts"),
]
reports_urls = [
    path("report-subscriptions", reports.Subscriptions.as_view(), name="report-subscriptions"),
    path(
        "report-subscriptions/<id:subscription_id>",
        reports.OneSubscription.as_view(),
        name="report-subscription",
    ),
    path(
        "report-subscriptions/<id:subscription_id>/preview",
        reports.PreviewReport.as_view(),
        name="report-preview",
    ),
    path("report-subscriptions/<id:subscription_id>/send", reports.SendReport.as_view(), name="report-send"),
    path("reports", reports.Reports.as_view(), name="reports"),
    path("reports/bounces", reports.Bounces.as_view(), name="report-bounces"),
    path("reports/mails/<id:delivery_id>/retry", reports.RetryMail.as_view(), name="report-mail-retry"),
    path("reports/<id:report_id>", reports.OneReport.as_view(), name="report"),
    path("alerts", alerts.Alerts.as_view(), name="alerts"),
    path("alerts/<id:alert_id>/snooze", alerts.SnoozeAlert.as_view(), name="alert-snooze"),
    path("alerts/<id:alert_id>/wake", alerts.WakeAlert.as_view(), name="alert-wake"),
    path("alert-channels", alerts.Channels.as_view(), name="alert-channels"),
    path("alert-channels/<id:channel_id>", alerts.OneChannel.as_view(), name="alert-channel"),
    path("alert-channels/<id:channel_id>/test", alerts.TestChannel.as_view(), name="alert-channel-test"),
]
pools_urls = [
    path("pools", pools.Pools.as_view(), name="pools"),
    path("pools/choose", pools.PoolChoices.as_view(), name="pool-choices"),
    path("pools/<id:pool_id>/devices", pools.Devices.as_view(), name="pool-devices"),
    path("devices", pools.AllDevices.as_view(), name="devices"),
    path("devices/<id:device_id>/revoke", pools.RevokeDevice.as_view(), name="device-revoke"),
    path("own-work", pools.AllWork.as_view(), name="own-work"),
    path("launch-plans/<id:plan_id>/exports", pools.PlanExports.as_view(), name="launch-plan-exports"),
    path("device/poll", device_work.DevicePoll.as_view(), name="device-poll"),
    path("device/jobs/<id:work_id>/renew", device_work.DeviceRenew.as_view(), name="device-renew"),
    path(
        "device/jobs/<id:work_id>/checkpoint",
        device_work.DeviceCheckpoint.as_view(),
        name="device-checkpoint",
    ),
    path("device/jobs/<id:work_id>/yield", device_work.DeviceYield.as_view(), name="device-yield"),
    path("device/jobs/<id:work_id>/result", device_work.DeviceResult.as_view(), name="device-result"),
    path("stop-schedules", schedules.Schedules.as_view(), name="schedules"),
    path("stop-schedules/preview", schedules.SchedulePreview.as_view(), name="schedule-preview"),
    path("stop-schedules/<id:schedule_id>", schedules.OneSchedule.as_view(), name="schedule"),
    *(
        path(f"stop-schedules/<id:schedule_id>/{verb}", view.as_view(), name=f"schedule-{verb}")
        for verb, view in (
            ("approve", schedules.ApproveSchedule),
            ("dry-run", schedules.TrySchedule),
            ("pause", schedules.PauseSchedule),
            ("resume", schedules.ResumeSchedule),
            ("cancel", schedules.CancelSchedule),
        )
    ),
]
reports_urls = [
    path("report-subscriptions", reports.Subscriptions.as_view(), name="report-subscriptions"),
    path(
        "report-subscriptions/<id:subscription_id>",
        reports.OneSubscription.as_view(),
        name="report-subscription",
    ),
    path(
        "report-subscriptions/<id:subscription_id>/preview",
        reports.PreviewReport.as_view(),
        name="report-preview",
    ),
    path("report-subscriptions/<id:subscription_id>/send", reports.SendReport.as_view(), name="report-send"),
    path("reports", reports.Reports.as_view(), name="reports"),
    path("reports/bounces", reports.Bounces.as_view(), name="report-bounces"),
    path("reports/mails/<id:delivery_id>/retry", reports.RetryMail.as_view(), name="report-mail-retry"),
    path("reports/<id:report_id>", reports.OneReport.as_view(), name="report"),
    path("alerts", alerts.Alerts.as_view(), name="alerts"),
    path("alerts/<id:alert_id>/snooze", alerts.SnoozeAlert.as_view(), name="alert-snooze"),
    path("alerts/<id:alert_id>/wake", alerts.WakeAlert.as_view(), name="alert-wake"),
    path("alert-channels", alerts.Channels.as_view(), name="alert-channels"),
    path("alert-channels/<id:channel_id>", alerts.OneChannel.as_view(), name="alert-channel"),
    path("alert-channels/<id:channel_id>/test", alerts.TestChannel.as_view(), name="alert-channel-test"),
]
document_urls = [
    path("schema", document.Schema.as_view(), name="schema"),
    path("docs", document.document_page, name="docs"),
]

urlpatterns: list[URLPattern] = [
    *accounts_urls,
    *ingest_urls,
    *feeds_urls,
    *bills_urls,
    *prices_urls,
    *advice_urls,
    *cost_check_urls,
    *launches_urls,
    *spend_urls,
    *bill_tables_urls,
    *budgets_urls,
    *recommendations_urls,
    *workloads_urls,
    *commitments_urls,
    *deals_urls,
    *purchases_urls,
    *storage_urls,
    *waste_urls,
    *reports_urls,
    *pools_urls,
    *document_urls,
    # Last: every other address below /api/v1/ answers in the API's error shape.
    re_path(r"^[\s\S]*$", csrf_exempt(login_not_required(missing)), name="missing"),
]
