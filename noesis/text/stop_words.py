"""The English words that the keyword index leaves out."""

from __future__ import annotations

_WORDS = """
    a about above after again against all am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has have
    having he her here hers herself him himself his how i if in into is it its itself me more most my
    myself of off on once only or other our ours ourselves out over own same she should so some such
    than that the their theirs them themselves then there these they this those through to too under
    until up very was we were what when where which while who whom why with would you your yours
    yourself yourselves
"""

# The filter sees words after stemming, which leaves these in another form.
_STEMS = "abov ani becaus befor doe dure onc onli ourselv themselv veri whi yourselv"

STOP_WORDS = tuple(sorted({*_WORDS.split(), *_STEMS.split()}))
"""Function words only.

LanceDB's own list for the ICU tokenizer joins many languages: with it "door", "man", "van", "die"
and "not" can never be found, for each is a function word somewhere.
"""
