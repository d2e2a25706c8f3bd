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
from apps.billing.models.deliveries import BillReport, Delivery, DeliveryPart, DeliveryState
from apps.billing.models.exchange import ExchangeRate
from apps.billing.models.rates import NegotiatedRateRow

__all__ = [
    "AccountName",
    "AllocationRule",
    "AllocationVersion",
    "BillReport",
    "Delivery",
    "DeliveryPart",
    "DeliveryState",
    "ExchangeRate",
    "NameSource",
    "NegotiatedRateRow",
    "RuleKind",
    "RuleShare",
    "SavedView",
    "SplitMethod",
]
