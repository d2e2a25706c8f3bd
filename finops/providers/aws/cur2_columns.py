"""Columns of AWS's table COST_AND_USAGE_REPORT (CUR 2.0) that the export asks for.

Source: AWS Data Exports user guide, "Cost and Usage Report 2.0 table dictionary", read 2026-11. All of the
table but the split cost allocation, which multiplies rows and which nothing here reads.
"""

# Prefix of the columns -> their names.
_GROUPS: tuple[tuple[str, str], ...] = (
    (
        "bill",
        "bill_type billing_entity billing_period_end_date billing_period_start_date invoice_id"
        " invoicing_entity payer_account_id payer_account_name",
    ),
    (
        "",
        "cost_category discount discount_bundled_discount discount_total_discount",
    ),
    (
        "identity",
        "line_item_id time_interval",
    ),
    (
        "line_item",
        "availability_zone blended_cost blended_rate currency_code legal_entity"
        " line_item_description line_item_type net_unblended_cost net_unblended_rate"
        " normalization_factor normalized_usage_amount operation product_code resource_id tax_type"
        " unblended_cost unblended_rate usage_account_id usage_account_name usage_amount"
        " usage_end_date usage_start_date usage_type",
    ),
    (
        "pricing",
        "currency lease_contract_length offering_class public_on_demand_cost public_on_demand_rate"
        " purchase_option rate_code rate_id term unit",
    ),
    (
        "",
        "product product_comment product_fee_code product_fee_description product_from_location"
        " product_from_location_type product_from_region_code product_instance_family"
        " product_instance_type product_instancesku product_location product_location_type"
        " product_operation product_pricing_unit product_product_family product_region_code"
        " product_servicecode product_sku product_to_location product_to_location_type"
        " product_to_region_code product_usagetype",
    ),
    (
        "reservation",
        "amortized_upfront_cost_for_usage amortized_upfront_fee_for_billing_period"
        " availability_zone effective_cost end_time modification_status"
        " net_amortized_upfront_cost_for_usage net_amortized_upfront_fee_for_billing_period"
        " net_effective_cost net_recurring_fee_for_usage"
        " net_unused_amortized_upfront_fee_for_billing_period net_unused_recurring_fee"
        " net_upfront_value normalized_units_per_reservation number_of_reservations"
        " recurring_fee_for_usage reservation_a_r_n start_time subscription_id"
        " total_reserved_normalized_units total_reserved_units units_per_reservation"
        " unused_amortized_upfront_fee_for_billing_period unused_normalized_unit_quantity"
        " unused_quantity unused_recurring_fee upfront_value",
    ),
    (
        "",
        "resource_tags",
    ),
    (
        "savings_plan",
        "amortized_upfront_commitment_for_billing_period end_time instance_type_family"
        " net_amortized_upfront_commitment_for_billing_period"
        " net_recurring_commitment_for_billing_period net_savings_plan_effective_cost offering_type"
        " payment_option purchase_term recurring_commitment_for_billing_period region"
        " savings_plan_a_r_n savings_plan_effective_cost savings_plan_rate start_time"
        " total_commitment_to_date used_commitment",
    ),
)

CUR2_COLUMNS: tuple[str, ...] = tuple(
    f"{group}_{name}" if group else name for group, names in _GROUPS for name in names.split()
)
