"""Deliveries of bills and what they summed to; the lines themselves are facts in the lake."""

from apps.billing.models.deliveries import BillReport, Delivery, DeliveryPart, DeliveryState

__all__ = ["BillReport", "Delivery", "DeliveryPart", "DeliveryState"]
