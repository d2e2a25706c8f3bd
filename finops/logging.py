"""Sets up logging: structlog and the standard library end in one handler, without credentials in any line.

A filter on the root logger would miss records that reach it from child loggers. So the redaction is a
processor of every event, run once arguments and traceback are text, and a record factory does the same for
handlers that other programs bring (gunicorn's access log, say). Uncaught exceptions of a command are
printed through it too.
"""

from __future__ import annotations

import logging
import logging.config
import sys
import traceback
from types import TracebackType
from typing import Any

import structlog

from finops.redact import processor, redact

LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})
FORMS = frozenset({"text", "json"})


def _shared() -> list[Any]:
    """Processors that both structlog's events and the standard library's records pass."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        processor,
    ]


def _renderer(form: str) -> Any:
    """The last step: one JSON object a line, or `key=value` text for people."""
    if form == "json":
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=False, sort_keys=False)


class LineFormatter(structlog.stdlib.ProcessorFormatter):
    """Renders one record; its values, message and traceback have passed the redaction before."""

    def __init__(self, form: str) -> None:
        super().__init__(
            foreign_pre_chain=_shared(),
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _renderer(form)],
        )


def configuration(*, level: str = "INFO", form: str = "text") -> dict[str, Any]:
    """The dictConfig of one handler on the root logger. Raises ValueError for an unknown level or form."""
    if level not in LEVELS:
        raise ValueError(f"LOG_LEVEL is one of {', '.join(sorted(LEVELS))}, not {level!r}")
    if form not in FORMS:
        raise ValueError(f"LOG_FORMAT is text or json, not {form!r}")
    quiet = {name: {"level": "INFO"} for name in ("botocore", "urllib3", "boto3", "s3transfer")}
    # A line for every table it opens says nothing to an operator.
    quiet["pyiceberg"] = {"level": "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": LineFormatter, "form": form}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        # Their debug level prints signed requests in full; it is asked for by name only.
        "loggers": {**quiet, "django.server": {"handlers": ["stderr"], "level": "INFO", "propagate": False}},
    }


def _redacting_record(factory: Any) -> Any:
    """Wrap a record factory: message and traceback are redacted before any handler sees them."""

    def make(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record: logging.LogRecord = factory(*args, **kwargs)
        if record.exc_info and record.exc_info[0] is not None and record.exc_text is None:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        if not isinstance(record.msg, str):
            return record
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            return record
        clean = redact(message)
        if clean != message:
            record.msg, record.args = clean, ()
        return record

    make.offpeak = True  # type: ignore[attr-defined]
    return make


def print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What Python prints when a command dies, without credentials."""
    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def configure(config: dict[str, Any]) -> None:
    """Apply `configuration()`; called by Django's set-up in every process, so safe to repeat."""
    factory = logging.getLogRecordFactory()
    if not getattr(factory, "offpeak", False):
        logging.setLogRecordFactory(_redacting_record(factory))
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = print_exception
    logging.config.dictConfig(config)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_shared(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
