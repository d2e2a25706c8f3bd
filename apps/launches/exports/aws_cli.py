"""A plan as a call of the AWS CLI: the same arguments as ours, as one quoted JSON document."""

from __future__ import annotations

import json
import shlex

from apps.launches.exports.sheet import Sheet
from finops.providers.aws.launching_call import FLEET


def aws_cli(sheet: Sheet) -> str:
    """Two lines for a shell. Its client token makes pasting it twice safe. Raises PermanentError.

    The document is JSON in single quotes: every character of a name or a script stays what it is, in any
    shell that knows POSIX quoting. The CLI encodes UserData itself.
    """
    api, arguments = sheet.aws_call()
    verb = "create-fleet" if api == FLEET else "run-instances"
    region = shlex.quote(str(sheet.offer["region"]))
    document = shlex.quote(json.dumps(arguments, ensure_ascii=False, indent=2))
    return f"aws ec2 {verb} --region {region} \\\n  --cli-input-json {document}\n"
