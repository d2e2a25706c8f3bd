"""Reading advice and recommendations."""

from apps.recommendations.selectors.advice import advice_visible

__all__ = ["advice_visible"]
