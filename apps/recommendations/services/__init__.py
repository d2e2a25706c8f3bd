"""Advice and exact answers: the one room that pages, REST and command line ask."""

from apps.recommendations.services.answers import price_history, price_profile, run_cost
from apps.recommendations.services.backtests import backtest_launch
from apps.recommendations.services.launch import advise_launch

__all__ = ["advise_launch", "backtest_launch", "price_history", "price_profile", "run_cost"]
