"""Advice that was given, recommendations with what people made of them, purchases."""

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

__all__ = [
    "ENDED",
    "IN_FLIGHT",
    "Advice",
    "AttemptOutcome",
    "BuyingAccount",
    "DealAlert",
    "DealRule",
    "Effort",
    "EventAction",
    "InboxLook",
    "Purchase",
    "PurchaseApproval",
    "PurchaseAttempt",
    "PurchaseState",
    "RealisedSaving",
    "Recommendation",
    "RecommendationEvent",
    "RecommendationState",
    "Reversibility",
]
