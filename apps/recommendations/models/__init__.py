"""Advice that was given, recommendations and what people made of them, purchases, lifecycle rules."""

from apps.recommendations.models.advice import Advice
from apps.recommendations.models.deals import DealAlert, DealRule
from apps.recommendations.models.purchase import (
    ENDED,
    IN_FLIGHT,
    AttemptOutcome,
    BuyingAccount,
    Purchase,
    PurchaseApproval,
    PurchaseAttempt,
    PurchaseState,
)
from apps.recommendations.models.recommendation import (
    Effort,
    EventAction,
    InboxLook,
    RealisedSaving,
    Recommendation,
    RecommendationEvent,
    RecommendationState,
    Reversibility,
)
from apps.recommendations.models.storage import (
    ChangeState,
    LifecycleApproval,
    LifecycleChange,
    StorageAccount,
    StorageMark,
)

__all__ = [
    "ENDED",
    "IN_FLIGHT",
    "Advice",
    "AttemptOutcome",
    "BuyingAccount",
    "ChangeState",
    "DealAlert",
    "DealRule",
    "Effort",
    "EventAction",
    "InboxLook",
    "LifecycleApproval",
    "LifecycleChange",
    "Purchase",
    "PurchaseApproval",
    "PurchaseAttempt",
    "PurchaseState",
    "RealisedSaving",
    "Recommendation",
    "RecommendationEvent",
    "RecommendationState",
    "Reversibility",
    "StorageAccount",
    "StorageMark",
]
