"""Every word of the pages is a message, and each catalogue says all of them: complete, current and well formed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from noesis.dashboard.catalogue import Catalogue, CatalogueBroken, Entry, read, write
from noesis.dashboard.recognising import told
from noesis.dashboard.rendering import environment
from noesis.dashboard.sentences import COUNTED, SENTENCES
from noesis.dashboard.translation import ENGLISH, FOLDER, speak
from noesis.health import disk_part, waiting_words
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


class TestKnownSentences:
    """What pages recognise is what the operations say: a changed sentence fails here until it is changed there."""

    @staticmethod
    def said() -> tuple[str, list[tuple[re.Pattern[str], int]]]:
        """The constant texts of the code outside of the dashboard, and its others as patterns with their length."""
        constant, patterns = [], []
        for path in NOESIS.rglob("*.py"):
            if path.is_relative_to(NOESIS / "dashboard"):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    constant.append(node.value)
                elif isinstance(node, ast.JoinedStr):
                    parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
                    text = "".join("\0" if part is None else str(part) for part in parts)
                    for sentence in re.split(r"(?<=\S[.!?]) ", text.strip()):
                        # Whole sentences that are put in come before or after, with a blank between.
                        for each in (sentence, re.sub(r"^\0 ", "", sentence), re.sub(r" \0$", "", sentence)):
                            form = ".*".join(re.escape(piece) for piece in each.split("\0"))
                            patterns.append((re.compile(form), len(each)))
        return "\n".join(constant), patterns

    def test_the_code_says_each_of_them(self) -> None:
        constant, patterns = self.said()
        waiting = {waiting_words(1).strip(), waiting_words(2).strip()}
        own = {entry.id for entry in messages() if entry.notes != ("#: noesis/dashboard/sentences.py",)}
        for sentence in {*SENTENCES, *(form for pair in COUNTED for form in pair)} - own:
            text = sentence.replace("%%", "%")
            counted = {text.replace("%(count)s", number) for number in "12"}
            is_said = text in constant or bool(counted & waiting)
            is_said = is_said or any(
                3 * length > len(text) and pattern.fullmatch(text) for pattern, length in patterns
            )
            assert is_said, sentence

    @pytest.mark.parametrize("free", [0, 5 << 20, 600 << 20, 5 << 30])
    def test_what_is_put_together_is_recognised(self, free: int) -> None:
        speak("de")
        try:
            for said in (disk_part(free, read_only=False).summary, waiting_words(1), waiting_words(2_000)):
                assert 'lang="en"' not in told(said.strip())
        finally:
            speak(ENGLISH)


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
