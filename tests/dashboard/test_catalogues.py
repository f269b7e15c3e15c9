"""Every word of the pages is a message, and each catalogue says all of them: complete, current and well formed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from noesis.dashboard.catalogue import Catalogue, CatalogueBroken, Entry, read, write
from noesis.dashboard.recognising import recognises
from noesis.dashboard.rendering import environment
from noesis.dashboard.sentences import COUNTED, SENTENCES
from noesis.dashboard.translation import FOLDER
from noesis.health import disk_part, progress_words, waiting_words
from noesis.ledger import Job
from tests.dashboard.bare_text import bare_texts
from tools.messages import POT, TEMPLATES, messages, standing, template

NOESIS = Path(__file__).resolve().parents[2] / "noesis"
FILES = sorted(FOLDER.glob("*.po"))
_PLACE = re.compile(r"%\((\w+)\)s|(%%)")
_TAG = re.compile(r"<[^>]+>")


def catalogue(path: Path) -> Catalogue:
    return read(path.read_text(encoding="utf-8"))


def entries() -> list[tuple[str, Entry]]:
    return [(path.stem, entry) for path in FILES for entry in catalogue(path).entries]


def places(text: str) -> set[str]:
    return {name for name, _ in _PLACE.findall(text) if name}


def test_the_template_of_messages_is_up_to_date() -> None:
    """`python -m tools.messages` writes it."""
    assert POT.read_text(encoding="utf-8") == template(messages())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_language_lacks_nothing_and_holds_nothing_that_is_gone(path: Path) -> None:
    assert standing(catalogue(path), messages()) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plurals_have_as_many_forms_as_the_language(path: Path) -> None:
    found = catalogue(path)
    wrong = [each.id for each in found.entries if each.plural and len(each.texts) != found.forms]
    assert wrong == []
    assert {found.form()(count) for count in range(200)} == set(range(found.forms))


def test_every_place_of_a_message_is_filled_and_no_other_is_asked_for() -> None:
    for code, entry in entries():
        wanted = places(entry.plural or entry.id)
        # The form for one may say "one memory"; that for any count names it.
        assert places(entry.texts[-1]) == wanted, (code, entry.id)
        assert all(places(text) <= wanted for text in entry.texts), (code, entry.id)
        assert all("%" not in _PLACE.sub("", text) for text in entry.texts), (code, entry.id)


def test_markup_is_the_same_in_every_language() -> None:
    for code, entry in entries():
        for text in entry.texts:
            english = entry.id if text is entry.texts[0] and entry.plural else entry.plural or entry.id
            assert Counter(_TAG.findall(text)) == Counter(_TAG.findall(english)), (code, entry.id)
            assert '"' not in _TAG.sub("", text), (code, entry.id)


def test_a_sentence_ends_as_one_in_every_language() -> None:
    ends = {".": ".。", "?": "?？", ":": ":："}
    for code, entry in entries():
        english, said = _TAG.sub("", entry.plural or entry.id), _TAG.sub("", entry.texts[-1])
        if not entry.context and english[-1] in ends:
            assert said[-1] in ends[english[-1]], (code, entry.id)


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_a_template_has_no_words_outside_of_messages(path: Path) -> None:
    assert bare_texts(environment(), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<p>Bare words</p>", ["Bare words"]),
        ("<p>{% trans %}Marked words{% endtrans %} and more</p>", ["and more"]),
        ('<p>{{ _("Marked") }} <code>noesis up</code></p>', []),
        ('<input placeholder="a word">', ["a word"]),
        ('<p>{{ "one way" if x else "another" }}</p>', ["one way", "another"]),
        ('<p class="{{ "bad" if x else "good" }}">Noesis</p>', []),
    ],
)
def test_bare_words_are_found(source: str, found: list[str]) -> None:
    assert bare_texts(environment(), source) == found


def code_texts() -> set[str]:
    """Every text of the code outside of the dashboard, with a gap where it puts a value in."""
    found = set()
    for path in NOESIS.rglob("*.py"):
        if path.is_relative_to(NOESIS / "dashboard"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                found.add("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def said_by_functions() -> list[str]:
    """Sentences that are put together from pieces, as the functions say them."""
    download = Job(**dict.fromkeys(Job.__struct_fields__) | {"done": 5 << 20, "total": 10 << 20})
    disks = [disk_part(free, read_only=False).summary for free in (0, 5 << 20, 600 << 20, 5 << 30)]
    return [*disks, waiting_words(1), waiting_words(2_000), progress_words(download)]


def test_the_sentences_that_pages_know_are_those_that_the_code_says() -> None:
    texts, said = "\n".join(code_texts()), said_by_functions()
    dashboard = {entry.id for entry in messages() if "#: noesis/dashboard/edit_form.py" in entry.notes}
    unknown = []
    for sentence in (*SENTENCES, *(form for pair in COUNTED for form in pair)):
        shape = _PLACE.sub(lambda place: "%" if place[2] else "\0", sentence)
        if shape not in texts and not any(recognises(sentence, each.strip()) for each in said):
            unknown.append(sentence)
    assert [sentence for sentence in unknown if sentence not in dashboard] == []


class TestTheFormat:
    WRITTEN = (
        'msgid ""\nmsgstr ""\n"Language: xx\\n"\n"Plural-Forms: nplurals=2; plural=n > 1;\\n"\n\n'
        '#: a.html\nmsgid "A \\"word\\""\nmsgstr "Ein\\tWort"\n\n'
        'msgctxt "role"\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] "eins"\nmsgstr[1] "viele"\n'
    )

    def test_what_is_read_is_written_as_it_was(self) -> None:
        found = read(self.WRITTEN)
        assert found.entries[0] == Entry(id='A "word"', texts=("Ein\tWort",), notes=("#: a.html",))
        assert found.entries[1].texts == ("eins", "viele")
        assert (found.forms, found.form()(1), found.form()(2)) == (2, 0, 1)
        assert write(found) == self.WRITTEN

    def test_texts_may_go_over_several_lines_and_old_ones_are_left_out(self) -> None:
        found = read('msgid "a "\n"b"\nmsgstr ""\n"c "\n"d"\n\n#~ msgid "old"\n#~ msgstr "alt"\n')
        assert [(entry.id, entry.texts) for entry in found.entries] == [("a b", ("c d",))]

    @pytest.mark.parametrize("note", ["#, fuzzy", "#, python-format, fuzzy"])
    def test_what_is_marked_as_doubtful_is_not_done(self, note: str) -> None:
        (entry,) = read(f'{note}\nmsgid "a"\nmsgstr "b"\n').entries
        assert not entry.is_done

    @pytest.mark.parametrize("text", ['msgid a\nmsgstr "b"', 'msgid "a"\nwrong "b"', 'msgid "a'])
    def test_a_broken_file_is_refused_naming_the_line(self, text: str) -> None:
        with pytest.raises(CatalogueBroken, match=r"Line [12] "):
            read(text)

    def test_without_a_rule_for_plurals_it_is_refused(self) -> None:
        with pytest.raises(CatalogueBroken, match="Plural-Forms"):
            read('msgid "a"\nmsgstr "b"\n').form()
