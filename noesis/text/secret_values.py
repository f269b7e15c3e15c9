"""Whether a value that is named a secret is one: a real password, or a variable, a type, a word.

The judgement errs towards redaction where the value stands in a configuration, and towards leaving
it where it stands in a sentence: a lost word there would change what the memory says.
"""

from __future__ import annotations

import functools

import re2

_SHORTEST_PASSWORD = 4
_SHORTEST_STRONG = 6
_SHORTEST_TOKEN = 12
# Random letters without a digit hardly ever hold five lower-case ones together; names always do.
_LONGEST_LOWER_RUN = re2.compile(r"[a-z]{5}")
_SYMBOL = re2.compile(r"[^\s\w.,:;/()\[\]'\"-]")

# What stands for a value held elsewhere: variables, calls, dotted names, paths, addresses, masks.
_REFERENCE = (
    r"^(?:<|\$|\{|%\w+%|&|\(|\[|!(?:secret|vault|ref|env|file|sub|reference)\b|"
    r"(?:env|vault|file|ssm|arn|op|secrets?|config|ref|urn|sha256|sha512|https?|ftp|data)[:@])|"
    r"\$\{|\$\(|\{\{|[(\[]|^[a-z_]\w*(?:(?:\.|::|->)[a-z_]\w{0,30})+$|^(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]+)*/?$|"
    r"^[\w.+-]+@[\w-]+\.[a-z.]+$|^[x•.#_*-]+$|^\W+$|^your|[_-]here$|example\.(?:com|org)"
)
# Numbers with a unit, versions, dates and the names of algorithms have letters and digits too.
_MEASURE = (
    r"^v?[0-9]+(?:[.,/x:_-][0-9]+)*\+?$|"
    r"^[0-9]{1,4}(?:[-–][0-9]{1,4})?\+?[-_]?(?:k|m|ms|s|min|h|d|gb|mb|kb|st|nd|rd|th|x|"
    r"bits?|bytes?|chars?|characters?|letters?|digits?|symbols?|words?|days?|hours?|minutes?|seconds?|years?|"
    r"factor|fa|times?|steps?|rounds?|tokens?)(?:-[a-z]+)*$|"
    r"^(?:sha|md|argon|pbkdf|base|oauth|aes|rsa|rs|hs|es|ps|hmac|utf|ed|x|rfc|https?|ipv|iso|tls|p|s|v|k8s|ec|gpt|"
    r"llama|python|py|node|redis|mysql|postgres)[-_]?[0-9]+[a-z]*(?:[-_.][a-z0-9]{1,12})*$|"
    r"^[0-9]{4}-[0-9]{2}(?:-[0-9]{2}.*)?$"
)
_NAMED = (
    r"(?:password|passwd|passphrase|secret|token|credential|api[_-]?key|private[_-]?key|access[_-]?key)s?"
    r"(?:$|[^0-9a-z])"
)
_NOTHING_SECRET = re2.compile(f"(?i){_REFERENCE}|{_MEASURE}|{_NAMED}")
_ORDINARY = frozenset(
    """
    a an and any are as at auto bad be been bool boolean both bytes by can changed changeme char chars const correct
    credentials data default defined deleted deprecated disabled dummy empty enabled encoded encrypted env example
    expired expires false field file first flag for forgotten from function generated given good hash hashed have here
    hidden if in incorrect input int integer invalid is it its just key kept known let literal long lost machine
    managed mandatory manual masked missing must needed never new nil no none normal not null number object of off old
    on one only option optional or other our out own param plain plaintext present private prompt protected public
    query random read redacted regex rejected removed required reset revoked rotated same saved sent set shared short
    should some still stored str string strong super text that the their them there this to too true type undefined
    unique unknown unset until update used user username valid value var variable verified void was weak when where
    which will with without wrong yes you your
    """.split()  # noqa: SIM905  a list of 200 literals would not be read
)


def is_strong(value: str) -> bool:
    """Whether `value` looks made up for no other purpose: letters with digits or symbols, no measure."""
    if len(value) < _SHORTEST_STRONG or _is_nothing_secret(value):
        return False
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    return letters and (digits or bool(_SYMBOL.search(value)) or _is_random_case(value))


def is_token(value: str) -> bool:
    """Whether `value` is strong and long enough for a token or a key."""
    return len(value) >= _SHORTEST_TOKEN and is_strong(value)


def is_number(value: str) -> bool:
    """Whether `value` could be a password of digits."""
    return value.isdigit() and _SHORTEST_PASSWORD <= len(value) <= 20


def is_set_password(value: str) -> bool:
    """Whether a configuration's password is meant: then even a plain word is one."""
    if len(value) < _SHORTEST_PASSWORD:
        return False
    return is_number(value) or not _is_nothing_secret(value)


def is_set_secret(value: str) -> bool:
    """Whether an environment variable's token or key is meant."""
    return is_strong(value) or (len(value) >= 8 and value.isalpha() and not _is_nothing_secret(value))


def is_quoted_password(value: str, name: str) -> bool:
    """Whether the quoted text after a password's name is one, and no label and no sentence."""
    words = value.split()
    if len(words) < 2:
        return is_set_password(value)
    if name.lower().endswith("passphrase") and 2 * len(_ORDINARY.intersection(words)) < len(words):
        return True
    return any(is_strong(word) for word in words)


def _is_random_case(value: str) -> bool:
    mixed = value.lower() != value and value.upper() != value
    return mixed and len(value) >= 16 and not _LONGEST_LOWER_RUN.search(value)


@functools.lru_cache(maxsize=1024)
def _is_nothing_secret(value: str) -> bool:
    return value.lower() in _ORDINARY or _NOTHING_SECRET.search(value) is not None
