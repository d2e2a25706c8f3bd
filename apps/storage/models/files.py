"""Files that were taken over: the same file again changes nothing."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class TakenFile(models.Model):
    """A file of reads or of totals, by what is in it; `rows` of it count. Null organisation: everybody's."""

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    sha256 = models.CharField(max_length=64)
    kind = models.CharField(max_length=20)
    rows = models.BigIntegerField()
    run_id = models.BigIntegerField()
    taken_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "sha256"], name="taken_file_once", nulls_distinct=False
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.sha256[:12]}"
