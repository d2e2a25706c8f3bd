#!/bin/sh
# The public FOCUS validator over a file made with `export_focus --focus-version 1.0`, in an environment of its own.
# Usage: scripts/focus_validator.sh FILE.csv [FOLDER for the environment, default: a temporary one]
set -eu
file=$1
where=${2:-$(mktemp -d)}
if [ ! -x "$where/bin/focus-validator" ]; then
    python3 -m venv "$where"
    # 1.0.0 imports a name that multimethod dropped in 2.0.
    "$where/bin/pip" install --quiet 'focus-validator==1.0.0' 'multimethod<2'
fi
exec "$where/bin/focus-validator" --data-file "$file" --validate-version 1.0
