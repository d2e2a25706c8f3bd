"""Deliveries of bills and what they summed to; the lines themselves are facts in the lake."""

from apps.billing.models.accounts import AccountName, NameSource
from apps.billing.models.allocation import (
    AllocationRule,
    AllocationVersion,
    RuleKind,
    RuleShare,
    SavedView,
    SplitMethod,
)
from apps.billing.models.anomalies import (
    Anomaly,
    AnomalyCourse,
    AnomalyDirection,
    AnomalyState,
    BillWatch,
    DeliveryDay,
)
from apps.billing.models.budgets import (
    Budget,
    BudgetAlert,
    BudgetBasis,
    BudgetMeasure,
    BudgetPeriod,
    BudgetScope,
    BudgetThreshold,
)
from apps.billing.models.commitments import SeenOffer
from apps.billing.models.deliveries import BillReport, Delivery, DeliveryPart, DeliveryState
from apps.billing.models.exchange import ExchangeRate
from apps.billing.models.expected import ExpectedTotal
from apps.billing.models.owned import CommitmentAlert, CommitmentChange, OwnedCommitment
from apps.billing.models.rates import NegotiatedRateRow

__all__ = [
    "AccountName",
    "AllocationRule",
    "AllocationVersion",
    "Anomaly",
    "AnomalyCourse",
    "AnomalyDirection",
    "AnomalyState",
    "BillReport",
    "BillWatch",
    "Budget",
    "BudgetAlert",
    "BudgetBasis",
    "BudgetMeasure",
    "BudgetPeriod",
    "BudgetScope",
    "BudgetThreshold",
    "CommitmentAlert",
    "CommitmentChange",
    "Delivery",
    "DeliveryDay",
    "DeliveryPart",
    "DeliveryState",
    "ExchangeRate",
    "ExpectedTotal",
    "NameSource",
    "NegotiatedRateRow",
    "OwnedCommitment",
    "RuleKind",
    "RuleShare",
    "SavedView",
    "SeenOffer",
    "SplitMethod",
]
