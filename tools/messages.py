"""Collects every message of the pages, brings the catalogues up to date, and says what each language lacks.

usage: python -m tools.messages [--check] [LANGUAGE…]

Without `--check` it writes noesis/dashboard/languages/messages.pot and every .po file beside it: new
messages come in empty, those that are no longer used go.  A LANGUAGE that has no file yet gets one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jinja2 import Environment

from noesis.dashboard.catalogue import Catalogue, Entry, Key, read, write
from noesis.dashboard.rendering import environment
from noesis.dashboard.static import WEB
from noesis.dashboard.translation import FOLDER
from noesis.dashboard.words import MEANING
from noesis.settings import describe

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = WEB / "templates"
CODE = ROOT / "noesis" / "dashboard"
POT = FOLDER / "messages.pot"

# The functions of noesis.dashboard.translation by what their arguments are.
ARGUMENTS = {
    "_": ("id",),
    "gettext": ("id",),
    "gettext_noop": ("id",),
    "pgettext": ("context", "id"),
    "pgettext_noop": ("context", "id"),
    "ngettext": ("id", "plural"),
    "ngettext_noop": ("id", "plural"),
    "npgettext": ("context", "id", "plural"),
}
HEADER = "Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\nMIME-Version: 1.0\n"
FORMS = {"de": "nplurals=2; plural=n != 1;", "zh": "nplurals=1; plural=0;"}
"""The plurals of languages; another one's stand in gettext's manual, section 12.6."""


def messages() -> list[Entry]:
    """Every message of templates and code, in the order of files and lines, with where it stands."""
    found: dict[Key, Entry] = {}
    for place, told in [*_of_templates(environment()), *_of_code(), *_of_settings()]:
        entry = Entry(
            id=told["id"], context=told.get("context", ""), plural=told.get("plural"), notes=(f"#: {place}",)
        )
        before = found.get(entry.key)
        if before is None:
            found[entry.key] = entry
        else:
            notes = tuple(dict.fromkeys((*before.notes, *entry.notes)))
            plural = before.plural or entry.plural
            found[entry.key] = Entry(id=entry.id, context=entry.context, plural=plural, notes=notes)
    return list(found.values())


def _of_templates(templates: Environment) -> Iterator[tuple[str, dict[str, str]]]:
    for path in sorted(TEMPLATES.glob("*.html")):
        place = path.relative_to(ROOT).as_posix()
        extracted = templates.extract_translations(path.read_text(encoding="utf-8"))  # type: ignore[attr-defined]
        for _line, function, told in extracted:
            texts = [told] if isinstance(told, str) else [each for each in told or () if each is not None]
            if function in ARGUMENTS and len(texts) >= len(ARGUMENTS[function]):
                yield place, dict(zip(ARGUMENTS[function], texts, strict=False))


def _of_code() -> Iterator[tuple[str, dict[str, str]]]:
    for path in sorted(CODE.glob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ARGUMENTS:
                names = ARGUMENTS[node.func.id]
                texts = [arg.value for arg in node.args[: len(names)] if isinstance(arg, ast.Constant)]
                if len(texts) == len(names):
                    yield place, dict(zip(names, map(str, texts), strict=True))


def _of_settings() -> Iterator[tuple[str, dict[str, str]]]:
    """What each setting means, which the page of the system shows."""
    for about, _default in describe().values():
        yield "noesis/settings.py", {"context": MEANING, "id": about.text.replace("%", "%%")}


def template(entries: Iterable[Entry]) -> str:
    """The file that a new translation begins with."""
    empty = [with_texts(entry, ("",) * (1 if entry.plural is None else 2)) for entry in entries]
    return write(Catalogue(HEADER, tuple(empty)))


def merged(old: Catalogue, entries: Iterable[Entry]) -> Catalogue:
    """A language's catalogue with exactly these messages, as far as it has them with their texts."""
    known = {entry.key: entry for entry in old.entries}
    return Catalogue(
        old.header, tuple(_brought_over(known.get(each.key), each, old.forms) for each in entries)
    )


def _brought_over(known: Entry | None, entry: Entry, forms: int) -> Entry:
    wanted = 1 if entry.plural is None else forms
    if known is None or len(known.texts) != wanted or known.plural != entry.plural:
        return with_texts(entry, ("",) * wanted)
    by_hand = tuple(note for note in known.notes if not note.startswith("#:"))
    kept = Entry(id=entry.id, context=entry.context, plural=entry.plural, notes=(*by_hand, *entry.notes))
    return with_texts(kept, known.texts)


def with_texts(entry: Entry, texts: tuple[str, ...]) -> Entry:
    """The message with these texts."""
    return Entry(id=entry.id, context=entry.context, plural=entry.plural, texts=texts, notes=entry.notes)


def standing(old: Catalogue, entries: Sequence[Entry]) -> list[str]:
    """What a language lacks and what it has too much, a line for each."""
    known = {entry.key: entry for entry in old.entries}
    wanted = {entry.key: entry for entry in entries}
    lines = [f"missing: {_named(key)}" for key in wanted if key not in known or not known[key].is_done]
    return lines + [f"obsolete: {_named(key)}" for key in known if key not in wanted]


def _named(key: Key) -> str:
    context, text = key
    return f"{text!r} ({context})" if context else repr(text)


def _begun(code: str) -> Catalogue:
    return Catalogue(f"Language: {code}\n{HEADER}Plural-Forms: {FORMS.get(code, FORMS['de'])}\n", ())


def main(arguments: Sequence[str]) -> int:
    """Bring the files up to date, or with `--check` say only whether they are."""
    checks = "--check" in arguments
    entries = messages()
    paths = sorted(
        {*FOLDER.glob("*.po"), *(FOLDER / f"{code}.po" for code in arguments if code != "--check")}
    )
    faults = []
    if checks and (not POT.exists() or POT.read_text(encoding="utf-8") != template(entries)):
        faults.append("messages.pot is not up to date; run `python -m tools.messages`")
    for path in paths:
        old = read(path.read_text(encoding="utf-8")) if path.exists() else _begun(path.stem)
        if not checks:
            path.write_text(write(merged(old, entries)), encoding="utf-8")
        faults += [f"{path.stem}: {line}" for line in standing(old, entries)]
    if not checks:
        POT.write_text(template(entries), encoding="utf-8")
    print(*faults, f"{len(entries)} messages, {len(paths)} languages beside English", sep="\n")
    return 1 if checks and faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
