"""What a language file may hold, and that a wrong one is named."""

import pytest

from noesis.errors import SettingsError
from noesis.text.languages import languages, read_language
from noesis.text.sentences import matching_form

SMALL = """
[words]
we = ["nous", "on"]
[sentence]
months = ["Mai"]
[decision]
says = ["{we} avons décidé", "(?:c'est) décidé"]
headings = ["décisions?"]
label = "Décision"
[noise]
courtesy = ["merci"]
"""


def test_english_and_german_are_there() -> None:
    assert {"de", "en"} <= {language.name for language in languages()}


def test_a_new_file_is_a_new_language() -> None:
    french = read_language("fr.toml", SMALL)
    assert french.name == "fr"
    assert french.has("decision.says", matching_form("Bon, nous avons décidé de partir"))
    assert french.has("noise.courtesy", matching_form("Merci !"))
    assert not french.has("noise.courtesy", matching_form("merci beaucoup"))
    assert french.labels == {"decision": "Décision"}
    assert french.words["months"] == {"mai"}


def test_a_kind_that_the_file_leaves_out_never_matches() -> None:
    assert not read_language("fr.toml", SMALL).has("preference.says", matching_form("je préfère le thé"))


def test_a_phrase_stands_between_word_edges() -> None:
    """`like` is not in likely, `last` not in elastic, and a letter with an accent is a letter."""
    language = read_language("x.toml", '[preference]\nsays = ["like", "last", "the"]')
    for text in ("likely", "elastic", "unlike", "thé", "éthe", "last_name", "like2"):
        assert not language.has("preference.says", matching_form(text)), text
    for text in ("like", "I LIKE it", "(like)", "at last!", "like, so", "“like that”, the"):
        assert language.has("preference.says", matching_form(text)), text


def test_a_start_may_follow_openers_only() -> None:
    language = read_language("x.toml", '[words]\nopeners = ["ok", "so"]\n[decision]\nstarts = ["decided"]')
    assert language.has("decision.starts", matching_form("Ok, so: decided"))
    assert not language.has("decision.starts", matching_form("nobody decided"))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("[decision]\nsay = []", "decision.say"),
        ("[decisions]\nsays = []", "decisions"),
        ("decision = 3", "decision"),
        ("words = 3", "words"),
        ('[decision]\nsays = "we decided"', "decision.says"),
        ("[decision]\nsays = [3]", "decision.says"),
        ('[decision]\nsays = [""]', "decision.says"),
        ('[decision]\nsays = ["we (decided"]', "decision.says"),
        ('[decision]\nsays = ["a)", "(b"]', "decision.says"),
        ('[decision]\nsays = ["(?=we)"]', "decision.says"),
        ('[decision]\nsays = ["(a)\\\\1"]', "decision.says"),
        ('[decision]\nsays = ["{nobody} decided"]', "decision.says"),
        ('[words]\nwe = ["(we"]', "words.we"),
        ("[decision]\nlabel = 3", "decision.label"),
        ('[decision]\nlabel = " "', "decision.label"),
        ("[decision", "xx.toml"),
    ],
)
def test_a_wrong_file_stops_with_its_name_and_the_key(content: str, named: str) -> None:
    with pytest.raises(SettingsError) as error:
        read_language("xx.toml", content)
    assert "xx.toml" in error.value.message
    assert named in error.value.message
