"""What a customer applies in AWS so that bills arrive: a read-only role, an export.

CloudFormation (JSON) or Terraform. Least privilege: s3:ListBucket on the one bucket below the one prefix,
s3:GetObject on the objects there; where asked for, ce:GetCostAndUsage (daily totals until the first export
arrives) and organizations:ListAccounts (account names), which know no limits by resource. The role is taken
with an external id.

Data Exports is served in us-east-1 only, so the stack runs there. Sources: AWS Data Exports user guide
("Setting up an Amazon S3 bucket for data exports", "Table dictionary"), AWS::BCMDataExports::Export. Inputs
are checked against what AWS takes before they reach a text, and written as JSON strings (HCL: with `${` and
`%{` doubled), so no input can end its place.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from finops.frames.focus import FOCUS_COLUMNS
from finops.providers.aws.bill_bucket import BUCKET, PREFIX
from finops.providers.aws.cur2_columns import CUR2_COLUMNS
from finops.providers.aws.names import ACCOUNT, REGION

HOME_REGION = "us-east-1"
EXTERNAL_ID = re.compile(r"[A-Za-z0-9+=,.@:/_-]{2,1224}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
PRINCIPAL = re.compile(
    r"[0-9]{12}|arn:aws[a-z-]*:iam::[0-9]{12}:(root|(role|user)/[A-Za-z0-9+=,.@_/-]{1,512})"
)

CUR2, FOCUS = "cur2", "focus"
Table = Literal["cur2", "focus"]
# Columns of AWS beside FOCUS 1.2 in its export.
_FOCUS_OF_AWS = ("x_Discounts", "x_Operation", "x_ServiceCode")


class SetupError(ValueError):
    """One input is wrong; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class BillSetup:
    """For whom the texts are made. Raises SetupError with the field.

    `payer` is the account whose bill it is and in which the stack runs; `principal` the account (12 digits)
    or ARN of the identity that this service runs as; `prefix` without slashes at its ends.
    """

    bucket: str
    prefix: str
    payer: str
    principal: str
    external_id: str
    region: str = HOME_REGION
    table: str = CUR2
    export_name: str = "offpeak"
    role_name: str = "offpeak-bills"
    make_bucket: bool = True
    cost_explorer: bool = True
    organizations: bool = True

    def __post_init__(self) -> None:
        for field, pattern, said in (
            ("bucket", BUCKET, "Not the name of a bucket: 3 to 63 of a-z, 0-9, dots and hyphens."),
            ("payer", ACCOUNT, "An AWS account has 12 digits."),
            ("principal", PRINCIPAL, "Write 12 digits, or the ARN of a role or user."),
            ("external_id", EXTERNAL_ID, "2 or more letters, digits and + = , . @ : / _ -"),
            ("region", REGION, "Not a region, for example us-east-1."),
            ("export_name", NAME, "1 to 64 letters, digits, hyphens and underscores."),
            ("role_name", NAME, "1 to 64 letters, digits, hyphens and underscores."),
        ):
            if not pattern.fullmatch(getattr(self, field)):
                raise SetupError(field, said)
        if not self.prefix or not PREFIX.fullmatch(self.prefix) or self.prefix != self.prefix.strip("/"):
            raise SetupError("prefix", "Letters, digits and ! - _ . ( ) / = +, no slash at its ends.")
        if any(part in {"", ".", ".."} for part in self.prefix.split("/")):
            raise SetupError("prefix", "An empty folder name is not taken.")
        if self.table not in (CUR2, FOCUS):
            raise SetupError("table", "Choose cur2 or focus.")
        if self.make_bucket and self.region != HOME_REGION:
            raise SetupError("region", f"A bucket that the stack makes lies in {HOME_REGION}, where it runs.")

    @property
    def principal_arn(self) -> str:
        """The principal as an ARN."""
        is_account = ACCOUNT.fullmatch(self.principal)
        return f"arn:aws:iam::{self.principal}:root" if is_account else self.principal

    @property
    def role_arn(self) -> str:
        """The role that the feed takes."""
        return f"arn:aws:iam::{self.payer}:role/{self.role_name}"


def read_policy(
    bucket: str, prefix: str, *, cost_explorer: bool = True, organizations: bool = True
) -> dict[str, Any]:
    """The IAM policy of the role that reads the bills."""
    listing: dict[str, Any] = {
        "Sid": "ListBills",
        "Effect": "Allow",
        "Action": ["s3:ListBucket"],
        "Resource": [f"arn:aws:s3:::{bucket}"],
    }
    if prefix:
        listing["Condition"] = {"StringLike": {"s3:prefix": [f"{prefix}/*"]}}
    objects = f"arn:aws:s3:::{bucket}/{prefix}/*" if prefix else f"arn:aws:s3:::{bucket}/*"
    statements = [
        listing,
        {"Sid": "ReadBills", "Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [objects]},
    ]
    for wanted, sid, action in (
        (cost_explorer, "DailyTotals", "ce:GetCostAndUsage"),
        (organizations, "AccountNames", "organizations:ListAccounts"),
    ):
        if wanted:
            statements.append({"Sid": sid, "Effect": "Allow", "Action": [action], "Resource": ["*"]})
    return {"Version": "2012-10-17", "Statement": statements}


def trust_policy(setup: BillSetup) -> dict[str, Any]:
    """Who may take the role: one identity, with the external id."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": setup.principal_arn},
                "Action": "sts:AssumeRole",
                "Condition": {"StringEquals": {"sts:ExternalId": setup.external_id}},
            }
        ],
    }


def delivery_policy(setup: BillSetup) -> dict[str, Any]:
    """The bucket's policy that lets Data Exports write into it, for this payer's exports only."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "DeliverBills",
                "Effect": "Allow",
                "Principal": {"Service": ["bcm-data-exports.amazonaws.com", "billingreports.amazonaws.com"]},
                "Action": ["s3:PutObject", "s3:GetBucketPolicy"],
                "Resource": [f"arn:aws:s3:::{setup.bucket}", f"arn:aws:s3:::{setup.bucket}/*"],
                "Condition": {
                    "StringLike": {
                        "aws:SourceAccount": setup.payer,
                        "aws:SourceArn": [
                            f"arn:aws:cur:{HOME_REGION}:{setup.payer}:definition/*",
                            f"arn:aws:bcm-data-exports:{HOME_REGION}:{setup.payer}:export/*",
                        ],
                    }
                },
            }
        ],
    }


def query(table: str) -> tuple[str, str, dict[str, str]]:
    """(SQL statement, table of AWS, its settings): hourly, with resource ids."""
    if table == FOCUS:
        name, columns = "FOCUS_1_2_AWS", [column.focus for column in FOCUS_COLUMNS] + list(_FOCUS_OF_AWS)
        settings = {"TIME_GRANULARITY": "HOURLY"}
    else:
        name, columns = "COST_AND_USAGE_REPORT", list(CUR2_COLUMNS)
        settings = {
            "TIME_GRANULARITY": "HOURLY",
            "INCLUDE_RESOURCES": "TRUE",
            "INCLUDE_SPLIT_COST_ALLOCATION_DATA": "FALSE",
            "INCLUDE_MANUAL_DISCOUNT_COMPATIBILITY": "FALSE",
        }
    return f"SELECT {', '.join(columns)} FROM {name}", name, settings  # noqa: S608 - names of our own lists


def cloudformation(setup: BillSetup) -> str:
    """A template to be applied in us-east-1 of the payer's account."""
    statement, table, settings = query(setup.table)
    export: dict[str, Any] = {
        "Type": "AWS::BCMDataExports::Export",
        "Properties": {
            "Export": {
                "Name": setup.export_name,
                "DataQuery": {"QueryStatement": statement, "TableConfigurations": {table: settings}},
                "DestinationConfigurations": {
                    "S3Destination": {
                        "S3Bucket": setup.bucket,
                        "S3Prefix": setup.prefix,
                        "S3Region": setup.region,
                        "S3OutputConfigurations": {
                            "OutputType": "CUSTOM",
                            "Format": "PARQUET",
                            "Compression": "PARQUET",
                            "Overwrite": "OVERWRITE_REPORT",
                        },
                    }
                },
                "RefreshCadence": {"Frequency": "SYNCHRONOUS"},
            }
        },
    }
    resources: dict[str, Any] = {
        "BillsRole": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "RoleName": setup.role_name,
                "AssumeRolePolicyDocument": trust_policy(setup),
                "Policies": [{"PolicyName": "read-bills", "PolicyDocument": _policy(setup)}],
            },
        },
        "BillsExport": export,
    }
    if setup.make_bucket:
        export["DependsOn"] = ["BillsBucketPolicy"]
        resources["BillsBucket"] = {
            "Type": "AWS::S3::Bucket",
            "DeletionPolicy": "Retain",
            "UpdateReplacePolicy": "Retain",
            "Properties": {
                "BucketName": setup.bucket,
                "PublicAccessBlockConfiguration": {
                    "BlockPublicAcls": True,
                    "BlockPublicPolicy": True,
                    "IgnorePublicAcls": True,
                    "RestrictPublicBuckets": True,
                },
            },
        }
        resources["BillsBucketPolicy"] = {
            "Type": "AWS::S3::BucketPolicy",
            "Properties": {"Bucket": {"Ref": "BillsBucket"}, "PolicyDocument": delivery_policy(setup)},
        }
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Offpeak: a read-only role for bills, and the export that delivers them.",
        "Resources": resources,
        "Outputs": {"RoleArn": {"Value": {"Fn::GetAtt": ["BillsRole", "Arn"]}}},
    }
    return json.dumps(template, indent=2) + "\n"


def terraform(setup: BillSetup) -> str:
    """The same as a Terraform module of one file; run it with credentials of the payer's account."""
    blocks = [_TERRAFORM_HEAD, *_terraform_role(setup)]
    if setup.make_bucket:
        blocks += _terraform_bucket(setup)
    blocks += [_terraform_export(setup), 'output "role_arn" {\n  value = aws_iam_role.bills.arn\n}']
    return "\n\n".join(blocks) + "\n"


_TERRAFORM_HEAD = f"""terraform {{
  required_providers {{
    aws = {{
      source  = "hashicorp/aws"
      version = ">= 5.80"
    }}
  }}
}}

provider "aws" {{
  region = "{HOME_REGION}"
}}"""


def _terraform_role(setup: BillSetup) -> list[str]:
    return [
        f"""resource "aws_iam_role" "bills" {{
  name               = {_hcl(setup.role_name)}
  assume_role_policy = {_document(trust_policy(setup))}
}}""",
        f"""resource "aws_iam_role_policy" "bills" {{
  name   = "read-bills"
  role   = aws_iam_role.bills.id
  policy = {_document(_policy(setup))}
}}""",
    ]


def _terraform_bucket(setup: BillSetup) -> list[str]:
    return [
        f"""resource "aws_s3_bucket" "bills" {{
  bucket = {_hcl(setup.bucket)}

  lifecycle {{
    prevent_destroy = true
  }}
}}""",
        """resource "aws_s3_bucket_public_access_block" "bills" {
  bucket                  = aws_s3_bucket.bills.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}""",
        f"""resource "aws_s3_bucket_policy" "bills" {{
  bucket = aws_s3_bucket.bills.id
  policy = {_document(delivery_policy(setup))}
}}""",
    ]


def _terraform_export(setup: BillSetup) -> str:
    statement, table, settings = query(setup.table)
    wide = max(map(len, settings))
    rows = "\n".join(f"          {name:{wide}} = {_hcl(value)}" for name, value in settings.items())
    depends = "  depends_on = [aws_s3_bucket_policy.bills]\n\n" if setup.make_bucket else ""
    return f"""resource "aws_bcmdataexports_export" "bills" {{
{depends}  export {{
    name = {_hcl(setup.export_name)}

    data_query {{
      query_statement = {_hcl(statement)}
      table_configurations = {{
        {table} = {{
{rows}
        }}
      }}
    }}

    destination_configurations {{
      s3_destination {{
        s3_bucket = {_hcl(setup.bucket)}
        s3_prefix = {_hcl(setup.prefix)}
        s3_region = {_hcl(setup.region)}

        s3_output_configurations {{
          output_type = "CUSTOM"
          format      = "PARQUET"
          compression = "PARQUET"
          overwrite   = "OVERWRITE_REPORT"
        }}
      }}
    }}

    refresh_cadence {{
      frequency = "SYNCHRONOUS"
    }}
  }}
}}"""


def _policy(setup: BillSetup) -> dict[str, Any]:
    return read_policy(
        setup.bucket, setup.prefix, cost_explorer=setup.cost_explorer, organizations=setup.organizations
    )


def _hcl(text: str) -> str:
    """A quoted string of HCL: JSON's escapes, and no template in it."""
    return json.dumps(text).replace("${", "$${").replace("%{", "%%{")


def _document(policy: dict[str, Any]) -> str:
    body = json.dumps(policy, indent=2).replace("${", "$${").replace("%{", "%%{")
    return f"jsonencode({body.replace(chr(10), chr(10) + '  ')})"
