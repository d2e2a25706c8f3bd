"""Spot prices from files: API and CLI answers, tables, archives, folders."""

from finops.providers.files.archives import ArchiveLimits, UnreadableError
from finops.providers.files.source import FORMATS, FileEnd, FileSource

__all__ = ["FORMATS", "ArchiveLimits", "FileEnd", "FileSource", "UnreadableError"]
