"""Words that change what a sentence says although most of its words stay."""

from __future__ import annotations

from noesis.text.words import fold, stem


def _words(listed: str) -> frozenset[str]:
    return frozenset(fold(word) for word in listed.split())


def _stems(listed: str) -> frozenset[str]:
    return frozenset(stem(word) for word in listed.split())


NEGATIONS = _words(
    """
    no not never none nobody nothing nowhere neither nor without cannot except unless instead hardly barely
    against nicht kein keine keinen keinem keiner nie niemals ohne niemand nichts gegen pas jamais sans aucun
    aucune rien contre non nunca jamás sin nadie ninguno ninguna tampoco contra niet geen nooit zonder не нет ни
    без никогда
    """
)
"""English, German, French, Spanish, Italian, Dutch, Russian; whatever ends in n't counts as well."""

REVERSING = _stems(
    """
    stop avoid refuse reject decline drop remove delete cancel abandon hate dislike fail break broke broken lack
    miss lose lost disable forbid deny wrong false replace revert undo close end
    """
)
"""Stems that turn a statement round when they are added to it."""

NEGATING_CHARACTERS = "不没沒無无非未別别"
NEGATING_ENDINGS = ("ない", "ません", "なかった")
"""The same of Chinese and Japanese, which have no words to look at."""

UNCERTAIN = _words(
    """
    may might could would should must can maybe perhaps probably possibly if whether plan plans planned planning
    want wants wanted consider considering propose proposed proposal suggest suggested try trying draft ought
    vielleicht soll sollte könnte würde wenn falls peut-être si quizás
    """
)

PAST = _words("was were had formerly previously once used war waren était étaient era eran")
"""`used` counts only before `to`."""

QUALIFIERS = _words(
    """
    old new older newer former previous next last current left right upper lower only some most many few
    half both more less fewer least min max minimum maximum off down up staging production prod dev test daily
    weekly monthly yearly hourly morning afternoon evening night north south east west internal external public
    private primary secondary temporary permanent again too
    """
)

CALENDAR = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august
    september october november december today tomorrow yesterday second minute hour day week month quarter year montag dienstag mittwoch donnerstag freitag
    samstag sonntag
    """
)

_NUMBERS = {
    "0": "zero null cero",
    "2": "two zwei deux dos twice",
    "3": "three drei trois tres",
    "4": "four vier quatre cuatro",
    "5": "five fünf cinq cinco",
    "6": "six sechs seis",
    "7": "seven sieben sept siete",
    "8": "eight acht huit ocho",
    "9": "nine neun neuf nueve",
    "10": "ten zehn dix diez",
    "11": "eleven elf onze",
    "12": "twelve zwölf douze doce dozen",
    "20": "twenty zwanzig vingt veinte",
    "30": "thirty dreißig trente treinta",
    "40": "forty vierzig",
    "50": "fifty fünfzig",
    "60": "sixty sechzig",
    "100": "hundred hundert cent cien",
    "1000": "thousand tausend mille mil",
    "1000000": "million",
    "1st": "first erste premier primero",
    "2nd": "second zweite",
    "3rd": "third dritte",
    "4th": "fourth vierte",
}
NUMBERS = {word: value for value, listed in _NUMBERS.items() for word in _words(listed)}
"""Numbers in words; `one` is left out, for it is an article as often."""

RELATIONS = _words(
    """
    from to into onto before after than over under above below until since by for of on in at with behind beside
    between through via past across along around near inside outside toward towards away out against
    """
)

ALIKE = (_words("of for"), _words("in at on"), _words("by through via"), _words("toward towards to"))
"""Those of them that can stand for each other."""

BEING = _words("is are was were be been being am wird werden wurde ist sind est sont es son")
PASSIVE = _words("by von durch par por")
JOINING = _words("and or und oder et ou y e")

NARROWING = _words("for with during when while wherever für während pour quand para cuando")
"""What follows one of these says for whom or when alone something holds."""

_PERSONS = (
    "i me my mine myself",
    "you your yours",
    "he him his",
    "she her hers",
    "we us our ours",
    "they them their",
)
PERSONS = {word: number for number, listed in enumerate(_PERSONS) for word in _words(listed)}

FILLERS = _stems(
    "decided decision note remember please also just really actually now ok okay yes remind fyi get"
)
"""Stems that introduce what is said and add nothing to it."""

_IRREGULAR = """
    keep kept, write wrote written, run ran, send sent, hold held, take took taken, give gave given, make made,
    go went gone, build built, buy bought, choose chose chosen, pay paid, tell told, meet met, speak spoke spoken,
    find found, bring brought, know knew known, say said, see saw seen, sell sold, show shown, think thought,
    win won, sleep slept, drive drove driven, begin began begun, stand stood, leave left, lead led, fall fell
"""
SAME_VERB = {
    stem(form): stem(forms.split()[0]) for forms in _IRREGULAR.split(",") for form in forms.split()[1:]
}
"""The stems of irregular past forms, and of their verbs."""

ARTICLES = _words("a an the our my your their its his her this that der die das le la les el los")
