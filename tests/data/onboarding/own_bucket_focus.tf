terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80"
    }
  }
}

provider "aws" {
  region = "us-east-1"
}

resource "aws_iam_role" "bills" {
  name               = "offpeak-bills"
  assume_role_policy = jsonencode({
    "Version": "2012-10-17",
    "Statement": [
      {
        "Effect": "Allow",
        "Principal": {
          "AWS": "arn:aws:iam::444455556666:role/offpeak"
        },
        "Action": "sts:AssumeRole",
        "Condition": {
          "StringEquals": {
            "sts:ExternalId": "x7=secret,+@:/-"
          }
        }
      }
    ]
  })
}

resource "aws_iam_role_policy" "bills" {
  name   = "read-bills"
  role   = aws_iam_role.bills.id
  policy = jsonencode({
    "Version": "2012-10-17",
    "Statement": [
      {
        "Sid": "ListBills",
        "Effect": "Allow",
        "Action": [
          "s3:ListBucket"
        ],
        "Resource": [
          "arn:aws:s3:::acme-bills"
        ],
        "Condition": {
          "StringLike": {
            "s3:prefix": [
              "exports/finance/*"
            ]
          }
        }
      },
      {
        "Sid": "ReadBills",
        "Effect": "Allow",
        "Action": [
          "s3:GetObject"
        ],
        "Resource": [
          "arn:aws:s3:::acme-bills/exports/finance/*"
        ]
      },
      {
        "Sid": "DailyTotals",
        "Effect": "Allow",
        "Action": [
          "ce:GetCostAndUsage"
        ],
        "Resource": [
          "*"
        ]
      }
    ]
  })
}

resource "aws_bcmdataexports_export" "bills" {
  export {
    name = "offpeak"

    data_query {
      query_statement = "SELECT AvailabilityZone, BilledCost, BillingAccountId, BillingAccountName, BillingAccountType, BillingCurrency, BillingPeriodEnd, BillingPeriodStart, CapacityReservationId, CapacityReservationStatus, ChargeCategory, ChargeClass, ChargeDescription, ChargeFrequency, ChargePeriodEnd, ChargePeriodStart, CommitmentDiscountCategory, CommitmentDiscountId, CommitmentDiscountName, CommitmentDiscountQuantity, CommitmentDiscountStatus, CommitmentDiscountType, CommitmentDiscountUnit, ConsumedQuantity, ConsumedUnit, ContractedCost, ContractedUnitPrice, EffectiveCost, InvoiceId, InvoiceIssuerName, ListCost, ListUnitPrice, PricingCategory, PricingCurrency, PricingCurrencyContractedUnitPrice, PricingCurrencyEffectiveCost, PricingCurrencyListUnitPrice, PricingQuantity, PricingUnit, ProviderName, PublisherName, RegionId, RegionName, ResourceId, ResourceName, ResourceType, ServiceCategory, ServiceName, ServiceSubcategory, SkuId, SkuMeter, SkuPriceDetails, SkuPriceId, SubAccountId, SubAccountName, SubAccountType, Tags, x_Discounts, x_Operation, x_ServiceCode FROM FOCUS_1_2_AWS"
      table_configurations = {
        FOCUS_1_2_AWS = {
          TIME_GRANULARITY = "HOURLY"
        }
      }
    }

    destination_configurations {
      s3_destination {
        s3_bucket = "acme-bills"
        s3_prefix = "exports/finance"
        s3_region = "eu-central-1"

        s3_output_configurations {
          output_type = "CUSTOM"
          format      = "PARQUET"
          compression = "PARQUET"
          overwrite   = "OVERWRITE_REPORT"
        }
      }
    }

    refresh_cadence {
      frequency = "SYNCHRONOUS"
    }
  }
}

output "role_arn" {
  value = aws_iam_role.bills.arn
}
