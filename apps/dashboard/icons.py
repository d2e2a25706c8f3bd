"""Our own icons: 16 px, stroke 1.5, drawn in the current colour."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

PATHS: dict[str, str] = {
    "overview": '<path d="M2 7.5 8 2.5l6 5"/><path d="M3.75 6.25V13.5h8.5V6.25"/>',
    "recommendations": '<path d="M2.5 4.5 4 6l2.5-3M2.5 11 4 12.5l2.5-3"/><path d="M9 4.75h5M9 11.25h5"/>',
    "market": '<path d="M1.75 11.5 5.5 7.5l2.75 2.5 6-6"/><path d="M10.75 4h3.5v3.5"/>',
    "spend": '<path d="M2 14h12"/><path d="M4 11.5V8M8 11.5v-8M12 11.5V6"/>',
    "waste": '<path d="M2.5 4.25h11M6.25 4V2.5h3.5V4"/><path d="M3.75 4.5 4.5 14h7l.75-9.5M8 7v4.5"/>',
    "run": '<circle cx="8" cy="8" r="6.25"/><path d="M8 4.5V8l2.25 1.75"/>',
    "deals": '<path d="M8.5 2H14v5.5L7.5 14 2 8.5z"/><circle cx="11" cy="5" r="1"/>',
    "storage": '<ellipse cx="8" cy="3.75" rx="5.5" ry="2"/>'
    '<path d="M2.5 3.75v8.5c0 1.1 2.46 2 5.5 2s5.5-.9 5.5-2v-8.5"/>'
    '<path d="M2.5 8c0 1.1 2.46 2 5.5 2s5.5-.9 5.5-2"/>',
    "launches": '<path d="M4 2.5v11l9-5.5z"/>',
    "reports": '<rect x="1.75" y="3.25" width="12.5" height="9.5" rx="1"/><path d="m2 4.5 6 4.5 6-4.5"/>',
    "data": '<path d="M2 3.5h12M2 8h12M2 12.5h12"/><path d="M5 2v3M11 6.5v3M5 11v3"/>',
    "settings": '<path d="M2 5h6.5M12 5h2M2 11h2M7.5 11H14"/><circle cx="10.25" cy="5" r="1.75"/>'
    '<circle cx="5.75" cy="11" r="1.75"/>',
    "menu": '<path d="M2 4h12M2 8h12M2 12h12"/>',
    "check": '<path d="m3 8.5 3.25 3.25L13 4.75"/>',
    "cross": '<path d="m4 4 8 8M12 4l-8 8"/>',
    "warn": '<path d="M8 2.25 14.5 13.5h-13z"/><path d="M8 6.75v3M8 11.75v.01"/>',
    "question": '<path d="M5.75 5.75a2.3 2.3 0 1 1 3.4 2C8.3 8.3 8 8.7 8 9.6M8 12.5v.01"/>',
    "info": '<circle cx="8" cy="8" r="6.25"/><path d="M8 7.25v4M8 4.75v.01"/>',
    "lock": '<rect x="3" y="7" width="10" height="7" rx="1"/><path d="M5.25 7V5a2.75 2.75 0 0 1 5.5 0v2"/>',
    "empty": '<rect x="2" y="3" width="12" height="10" rx="1"/><path d="M2 9h3.5l1 2h3l1-2H14"/>',
    "down": '<path d="m4 6 4 4 4-4"/>',
    "upload": '<path d="M8 11V3M4.75 6 8 2.75 11.25 6M2.5 11.5v2h11v-2"/>',
}


def icon(name: str) -> SafeString:
    """The inline SVG; hidden from readers of the page's text, since a word always stands beside it."""
    return format_html(
        '<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">{}</svg>',
        mark_safe(PATHS[name]),  # noqa: S308 - constants of this file
    )
