"""The sentences and list items that a person wrote in a message, without its code, logs, tables and quotes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import re2

LONGEST_READ = 32_000
"""Characters of one message that are read for sentences; the middle of a longer one is a paste."""

LONGEST_SENTENCE = 1_000

_END = re2.compile(r"[.!?…]+[\"'”’»)\]*_]*[ \t]+|[。！？]+")
_ITEM = re2.compile(r"^\s*(?:[-*+•–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re2.compile(r"^\s*(?:#{1,6}\s+(.{1,80}?)\s*#*|\*\*([^*]{1,80})\*\*:?|([^.!?:#|*]{1,60}):)\s*$")
# A line that a machine wrote: a log's, a stack trace's, a shell's, a program's, a diff's or a data format's.
_MACHINE = re2.compile(
    r"^\s*(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\] .,]|\w{3} [ \d]\d \d\d:\d\d:\d\d "
    r"|\[(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\]|(?:TRACE|DEBUG|WARN|ERROR|FATAL|CRITICAL)[: ]"
    r"|Traceback \(most|File \"[^\"]*\", line \d|at [\w.$<>]+\(|\w+(?:\.\w+)*(?:Error|Exception)\b: ?"
    r"|[$%>] [a-z./]|\w+@[\w-]+:[^ ]*[$#] |[-dlrwx]{10} |total \d+$"
    r"|(?:diff --git|@@ -\d|index [0-9a-f]{7}|\+\+\+ |--- [ab]/)|[+-] {2,}\S"
    r"|(?:import|from) [\w.]+(?: import .*)?$|(?:def|class|func|fn|function) \w+ ?[(:{]|#include|#!/"
    r"|(?:const|let|var) \w+ ?[=:]|(?:return|if|for|while)\b.*[:{;]$"
    r"|SELECT .*\bFROM\b|INSERT INTO |UPDATE \w+ SET |DELETE FROM |CREATE (?:TABLE|INDEX|VIEW) |ALTER TABLE "
    r"|(?:sudo|npm|pip|git|docker|kubectl|make|cd|ls|curl|systemctl) (?:-|[a-z]+ -|install\b)|npm ERR!"
    r"|[\"'][\w.-]+[\"']\s*:\s|[\w.-]+\s*=\s*[\"'\[{0-9]|\w+\([^ ]*\);?$|<[/!?a-zA-Z][^<>]{0,200}>"
    r"|.*[({=].*;$|.*[{}]$|[\]}),;]+$|[+-]?[\d.,:;\s]+$|={3,}.*={3,}$|(?:not )?ok \d+\b|(?:PASSED|FAILED|FAIL|PASS)[: ]"
    r")"
)
_MARKS = {
    **dict.fromkeys(map(ord, "’‘‚ʼ´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»"), '"'),
    **dict.fromkeys(map(ord, "–—‑−"), "-"),
    **dict.fromkeys(map(ord, "*`"), None),
    ord("…"): "...",
}
_LETTERS = re2.compile(r"\pL")


class Sentence(msgspec.Struct, frozen=True):
    """One sentence or list item.

    `text` is as written, without the item's bullet; `form` its matching form, "" when it is over
    LONGEST_SENTENCE; `heading` that of the
    heading over it, "" for none; `follows` says that the one before stands in the same paragraph.
    """

    text: str
    form: str
    heading: str
    is_item: bool
    follows: bool


def matching_form(text: str) -> str:
    """`text` as patterns see it: one line, typographic marks as ASCII, quoted words gone, a blank at each end."""
    plain = " ".join(text.translate(_MARKS).split())
    *quoted, last = plain.split('"')
    if len(quoted) % 2:  # a mark that nothing closes, as in 27", quotes nothing
        last = f'{quoted.pop()}"{last}'
    return f""" {'""'.join((*quoted[::2], last))} """


def sentences(text: str, abbreviations: frozenset[str], months: frozenset[str]) -> list[Sentence]:
    """The sentences of a message, in order.

    Left out are code, logs, tables, quotations and headings.  `abbreviations` (lower case, without the
    full stop) end no sentence, nor does a day's number before one of the `months`.
    """
    found: list[Sentence] = []
    heading = ""
    for paragraph in _paragraphs(text):
        title = _heading_of(paragraph)
        if title:
            heading = matching_form(title)
            continue
        bullet = _ITEM.match(paragraph)
        if bullet is None and heading and not paragraph.startswith(" "):
            heading = ""
        body = paragraph[bullet.end() :] if bullet else paragraph
        follows = False
        for piece in _cut(body, abbreviations, months):
            if _LETTERS.search(piece):
                form = matching_form(piece) if len(piece) <= LONGEST_SENTENCE else ""
                found.append(Sentence(piece, form, heading, bullet is not None, follows))
                follows = True
    return found


def holds_prose(text: str) -> bool:
    """Whether any line was written by a person rather than by a machine."""
    return any(_LETTERS.search(line) for line in _prose_lines(_read_part(text)))


def _paragraphs(text: str) -> Iterator[str]:
    """Lines, those put together that a margin cut apart."""
    held = ""
    for line in _prose_lines(_read_part(text)):
        if held and _goes_on(held, line):
            held = f"{held} {line.strip()}"
            continue
        if held:
            yield held
        held = line
    if held:
        yield held


def _read_part(text: str) -> str:
    if len(text) <= LONGEST_READ:
        return text
    half = LONGEST_READ // 2
    head = text.rfind("\n", 0, half) + 1 or half
    tail = text.find("\n", len(text) - half)
    return f"{text[:head]}\n{text[tail if tail >= 0 else -half :]}"


def _goes_on(held: str, line: str) -> bool:
    bare = line.strip()
    return len(held) >= 60 and held[-1] not in ".!?:" and bare[:1].islower() and not _ITEM.match(line)


def _prose_lines(text: str) -> Iterator[str]:
    """Lines outside fences that are no quotation, no table and no machine's; a blank one ends nothing."""
    fence = ""
    for line in text.split("\n"):
        bare = line.strip()
        mark = bare[:3]
        if mark in ("```", "~~~") and (not fence or mark == fence) and "```" not in bare[3:]:
            fence = "" if fence else mark
        elif not fence and bare and bare[0] not in ">|" and not _MACHINE.match(bare[:300]):
            yield line.rstrip()


def _heading_of(line: str) -> str:
    found = _HEADING.match(line) if len(line) < 120 and not _ITEM.match(line) else None
    return next(filter(None, found.groups()), "") if found else ""


def _cut(body: str, abbreviations: frozenset[str], months: frozenset[str]) -> Iterator[str]:
    done = 0
    for end in _END.finditer(body):
        if _goes_on_after(body, end, abbreviations, months):
            continue
        yield body[done : end.end()].strip()
        done = end.end()
    yield body[done:].strip()


def _goes_on_after(body: str, end: re2._Match, abbreviations: frozenset[str], months: frozenset[str]) -> bool:
    """Whether the full stop belongs to an abbreviation or to a number that counts."""
    if body[end.start() : end.start() + 2].strip() != ".":
        return False
    before = body[max(0, end.start() - 16) : end.start()].split(" ")[-1].lower().lstrip("(")
    if before.isdigit() and len(before) <= 2:
        following = body[end.end() : end.end() + 12]
        return following[:1].islower() or following.split(" ")[0].strip(".,;!?").lower() in months
    return before in abbreviations or (len(before) == 1 and before.isalpha() and before != "i")
