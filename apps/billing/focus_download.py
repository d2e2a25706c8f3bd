"""An export as a download: for REST and for the page."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse

from apps.billing.services.focus_export import exported

_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
# The types of the files that come, without how their text is written.
MEDIA = tuple(one.partition(";")[0] for one in _TYPES.values())


def download(**question: Any) -> FileResponse:
    """The file as an answer; arguments as `focus_export`, but for the place. Raises ExportError.

    The file's name is gone before it is sent: the open file alone holds it, so nothing is left behind when
    the reader goes away.
    """
    with exported(**question) as found:
        handle = found.output.open("rb")
    window = found.window
    response = FileResponse(
        handle,
        as_attachment=True,
        filename=f"focus-{window.start}-{window.end}.{found.form}",
        content_type=_TYPES[found.form],
    )
    response["X-Focus-Version"] = found.version
    response["X-Rows"] = str(found.rows)
    response["X-Focus-Conformant"] = "false" if found.findings else "true"
    response["X-Columns-Not-Available"] = ",".join(found.chosen.not_available)
    return response
