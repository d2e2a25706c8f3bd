"""Advice that was given, and recommendations with what people made of them."""

from apps.recommendations.models.advice import Advice
from apps.recommendations.models.deals import DealAlert, DealRule
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
    "Advice",
    "DealAlert",
    "DealRule",
    "Effort",
    "EventAction",
    "InboxLook",
    "RealisedSaving",
    "Recommendation",
    "RecommendationEvent",
    "RecommendationState",
    "Reversibility",
]
