"""What somebody really said in a turn: the host's wrappings taken off, and why a turn says nothing."""

from __future__ import annotations

import re2

from noesis.text.languages import languages
from noesis.text.normalise import clean_text
from noesis.text.recalled_block import cut_recalled
from noesis.text.sentences import holds_prose, matching_form
from noesis.turns import Turn

SHORTEST = 10
"""Letters and digits below which a turn says nothing."""

# The longest turn that is asked whether it is courtesy or filler only.
_LONGEST_CHATTER = 400

# OpenClaw's own texts. A person's words follow on the same line or the next.
_TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?"
_ZONE = r" (?:[A-Z]{2,5}|GMT[+-]\d{1,2}|[A-Z]\w+/\w+)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
_LEADING = re2.compile(
    r"^(?:\s*(?:"
    rf"\[(?:[^\[\]\n]{{1,80}} )?(?:{_DAY}{_TIME}(?:{_ZONE})?|{_TIME}{_ZONE})\]"
    r"|System: \[[^\]\n]{1,80}\][^\n]*(?:\n|\z)"
    r"|(?:Conversation info|Sender|Thread starter|Replied message|Forwarded message context"
    r"|Chat history since last reply) \(untrusted[^)\n]{0,60}\):\n```(?:json)?\n(?:[^`\n][^\n]*\n|\n)*```[ \t]*(?:\n|\z)"
    r"|\[(?:message_id|media attached)[: ][^\]\n]{1,300}\][ \t]*(?:\n|\z)"
    r"))+\s*"
)
_TRAILING = re2.compile(
    r"^[ \t]*(?:Runtime: .*\b(?:agent|host|model|os|node|channel|shell|repo)=|\[message_id: [^\]]{1,100}\]$)"
)
# Wrappings are looked for in so many characters at a time: a match in a long text costs as much as reading it.
_STEP = 20_000
_MOST_TRAILING = 4
# Taking one wrapping off can bring out another; real texts need two passes.
_MOST_PASSES = 8
_ENCLOSED = (
    ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"),
    ("<<<EXTERNAL_UNTRUSTED_CONTENT", "<<<END_EXTERNAL_UNTRUSTED_CONTENT"),
)

_TOKENS = {"HEARTBEAT_OK": "heartbeat", "[OpenClaw heartbeat poll]": "heartbeat", "NO_REPLY": "no reply"}
_HEARTBEAT_PROMPT = "Read HEARTBEAT.md"
_COMMAND = re2.compile(r"^/[a-z][a-z0-9_-]{0,30}(?:[ :][^\n]{0,200})?$")
_SAYS_MORE = ("decision.assistant", "fact.assistant", "fact.assistant_starts", "session.starts")
_BOILERPLATE = (
    "A scheduled reminder has been triggered",
    "A new session was started via",
    "[Queued messages while agent was busy]",
    "[Queued user message",
    "Pre-compaction memory flush",
    "[System Message]",
    "An async command you ran earlier has completed",
)


def turn_text(text: str) -> str:
    """`text` as somebody wrote it: cleaned, without the host's wrappings and our own recalled blocks.

    Half surrogates become the replacement character.  Doing it twice changes nothing, but for more than
    eight wrappings around one another.  Linear in the text.
    """
    whole = clean_text(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    for _ in range(_MOST_PASSES):
        cut = _without_wrappings(cut_recalled(_without_enclosed(whole)))
        if cut == whole:
            break
        whole = cut
    return whole


def noise_of(turn: Turn) -> str | None:
    """Why the whole turn is no memory, None when it may hold one.

    Reasons: internal, tool output, system, recalled, empty, heartbeat, no reply, boilerplate, command, code or
    log, too short, courtesy, filler.
    """
    return noise_in(turn, turn_text(turn.text))


def noise_in(turn: Turn, text: str) -> str | None:
    """The same, for a turn whose text is `text` when it is cleaned."""
    if turn.internal:
        return "internal"
    if turn.role not in ("user", "assistant"):
        return "system" if turn.role == "system" else "tool output"
    if not text:
        return "recalled" if turn.text.strip() and not cut_recalled(turn.text).strip() else "empty"
    return _of_host(text) or _of_form(text) or _chatter(text, turn.role)


def _of_host(text: str) -> str | None:
    first, last = text[:80].split("\n")[0].strip(), text[-80:].split("\n")[-1].strip()
    reason = _TOKENS.get(first.strip(" *`.")) or _TOKENS.get(last.strip(" *`.") if len(text) < 60 else "")
    if reason:
        return reason
    if text.startswith(_HEARTBEAT_PROMPT):
        return "heartbeat"
    if text.startswith(_BOILERPLATE):
        return "boilerplate"
    return "command" if _COMMAND.match(text[:300]) else None


def _of_form(text: str) -> str | None:
    if sum(map(str.isalnum, text[:200])) < SHORTEST:
        return "courtesy" if _is_courtesy(text) else "too short"
    return None if holds_prose(text) else "code or log"


def _chatter(text: str, role: str) -> str | None:
    if len(text) > _LONGEST_CHATTER:
        return None
    if _is_courtesy(text):
        return "courtesy"
    is_filler = (
        role == "assistant" and len(text) < 160 and "\n" not in text and _is_filler(matching_form(text))
    )
    return "filler" if is_filler else None


def _is_filler(form: str) -> bool:
    if any(language.has(key, form) for language in languages() for key in _SAYS_MORE):
        return False
    return any(language.has("noise.filler", form) for language in languages())


def _is_courtesy(text: str) -> bool:
    form = matching_form(text) if len(text) <= _LONGEST_CHATTER else ""
    return any(language.has("noise.courtesy", form) for language in languages())


def _without_enclosed(text: str) -> str:
    """Without the parts that the host puts between marks of its own; an open one goes to the end."""
    for begin, end in _ENCLOSED:
        place = 0
        kept: list[str] = []
        while (start := _line_start_of(begin, text, place)) >= 0:
            kept.append(text[place:start])
            stop = text.find(end, start)
            line_end = text.find(">>>", stop + len(end) - 3) if stop >= 0 else -1
            place = line_end + 3 if line_end >= 0 else len(text)
        text = "".join((*kept, text[place:]))
    return text


def _without_wrappings(text: str) -> str:
    start, end = 0, len(text.rstrip())
    while leading := _LEADING.match(text[start : min(end, start + _STEP)]):
        start += leading.end()
    for _ in range(_MOST_TRAILING):
        line = max(start, text.rfind("\n", start, end) + 1)
        if not _TRAILING.match(text[line : min(end, line + _STEP)]):
            break
        end = _end_before(text, line)
    return text[start:end].strip()


def _end_before(text: str, line: int) -> int:
    """Where the text before this line's start ends, blanks aside."""
    while line and text[line - 1].isspace():
        line -= 1
    return line


def _line_start_of(mark: str, text: str, place: int) -> int:
    if text.startswith(mark, place) and (place == 0 or text[place - 1] == "\n"):
        return place
    found = text.find(f"\n{mark}", place)
    return found + 1 if found >= 0 else -1
