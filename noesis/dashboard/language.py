"""Which language a request is answered in: the person's choice, else the setting's, else the browser's."""

from __future__ import annotations

from typing import Any

from litestar import Request

from noesis.dashboard.translation import ENGLISH, languages, speak

COOKIE = "noesis_language"
AUTO = "auto"
DEPENDS_ON = "Cookie, Accept-Language"
"""What of a request decides on the language, for the header Vary."""

_MOST_ASKED = 20


def choice_of(request: Request[Any, Any, Any]) -> str:
    """The language somebody chose with this browser; auto when nobody did."""
    chosen = request.cookies.get(COOKIE, "")
    return chosen if chosen in languages() else AUTO


def language_of(request: Request[Any, Any, Any]) -> str:
    """The code of the language to answer in."""
    for code in (choice_of(request), request.app.state.noesis.settings.language):
        if code != AUTO:
            return str(code)
    return preferred(request.headers.get("accept-language", "")) or ENGLISH


def answer_in_its_language(request: Request[Any, Any, Any]) -> None:
    """Speak the language of a request from here on."""
    speak(language_of(request))


def preferred(header: str) -> str | None:
    """The first language of an Accept-Language header that pages speak; `de-AT` is understood as German.

    The header's form is that of RFC 9110, section 12.5.4; a part that is not of this form counts for nothing.
    """
    asked = []
    for place, part in enumerate(header.split(",")[:_MOST_ASKED]):
        name, _, quality = part.partition(";")
        code = name.strip().lower().partition("-")[0]
        weight = _weight(quality.strip())
        if code in languages() and weight > 0:
            asked.append((-weight, place, code))
    return min(asked)[2] if asked else None


def _weight(raw: str) -> float:
    if not raw:
        return 1.0
    name, _, value = raw.partition("=")
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if name.strip() == "q" and 0 <= weight <= 1 else 0.0
