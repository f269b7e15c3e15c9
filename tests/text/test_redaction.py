"""What is taken out of a text, what stays, and that neither can be made slow."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.errors import InvalidInput
from noesis.text.redaction import redact
from tests.text.samples import FORMS, SECRETS, benign_line

UNTOUCHED = Path(__file__).parents[1] / "data/redaction/untouched.txt"
PER_KIND = 10
MEGABYTE = 1_000_000
# Far more than is needed even on a busy machine; a pattern that is not linear takes minutes.
PATIENCE_SECONDS = 20.0

HOSTILE = {
    "PEM headers": "-----BEGIN PRIVATE KEY-----\n",
    "PEM headers on one line": "-----BEGIN PRIVATE KEY-----",
    "letters": "a",
    "spaces": " ",
    "JWT starts": "eyJ",
    "JWT parts": "eyJaaaaaaaaaaaaa.",
    "schemes": "a://",
    "dashes": "-",
    "backslashes": "\\",
    "quotes": '"',
    "names": "password ",
    "names and signs": "password=",
    "names and words": "password is ",
    "prefixes": "sk-",
}


def hostile_inputs() -> dict[str, str]:
    repeated = {name: (part * (MEGABYTE // len(part) + 1))[:MEGABYTE] for name, part in HOSTILE.items()}
    return repeated | {
        "a scheme and letters": "://" + "a" * MEGABYTE,
        "a user and letters": "x://u:" + "a" * MEGABYTE,
        "a name and backslashes": "password" + "\\" * MEGABYTE,
        "a name and filler": "password for" + " a" * (MEGABYTE // 2),
    }


@pytest.mark.parametrize("name", SECRETS)
def test_every_made_up_secret_goes_in_every_form(name: str) -> None:
    """Ten of each kind, each in all forms: the secret is gone and its kind is named."""
    make, context = SECRETS[name]
    rng = random.Random(name)
    for _ in range(PER_KIND):
        secret = make(rng)
        for form, put in FORMS.items():
            redaction = redact(put(context.format(secret)), "redact")
            pieces = [line for line in secret.split("\n") if not line.startswith("-")]
            assert not any(piece in redaction.text for piece in pieces), (form, redaction.text)
            assert redaction.counts, form


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_behind_very_much_other_text_goes_too(name: str) -> None:
    """All shapes are looked for in one pass, which must not give up on a long and varied text."""
    make, context = SECRETS[name]
    rng = random.Random(name)
    secret = make(rng)
    before = "\n".join(benign_line(rng) for _ in range(4_000))
    redacted = redact(f"{before}\n{context.format(secret)}", "redact").text
    assert secret not in redacted
    assert redacted.startswith(before[:10_000])


@pytest.mark.parametrize("name", SECRETS)
def test_the_placeholder_names_the_kind(name: str) -> None:
    make, context = SECRETS[name]
    kind = name.split(" ")[0]
    assert f"<redacted:{kind}>" in redact(context.format(make(random.Random(7))), "redact").text


def test_at_least_two_hundred_secrets_of_twenty_kinds_are_tried() -> None:
    assert len(SECRETS) >= 20
    assert len(SECRETS) * PER_KIND >= 200


def test_harmless_lines_stay_as_they_are() -> None:
    """At most 0.1 % of 10,000 lines of hashes, ids, images, paths, code and talk about secrets."""
    rng = random.Random(26)
    lines = [benign_line(rng) for _ in range(10_000)]
    batches = ["\n".join(lines[place : place + 50]) for place in range(0, len(lines), 50)]
    redacted = "\n".join(redact(batch, "redact").text for batch in batches).split("\n")
    changed = [line for line, after in zip(lines, redacted, strict=True) if line != after]
    assert len(changed) <= 10, changed[:5]


@pytest.mark.parametrize("line", UNTOUCHED.read_text(encoding="utf-8").splitlines())
def test_talk_about_secrets_stays(line: str) -> None:
    redaction = redact(line, "redact")
    assert redaction.text == line
    assert redaction.counts == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("DB_PASSWORD=swordfish\nDB_HOST=db", "DB_PASSWORD=<redacted:password>\nDB_HOST=db"),
        ("db password is hunter2-example, and", "db password is <redacted:password>, and"),
        ("The password for the db is hunter2x.", "The password for the db is <redacted:password>."),
        (
            "we changed the password to Blue-42-horse today",
            "we changed the password to <redacted:password> today",
        ),
        ("the password is 482913", "the password is <redacted:password>"),
        ("the wifi password is 'swordfish'", "the wifi password is '<redacted:password>'"),
        ("user: ada\npassword: swordfish\n", "user: ada\npassword: <redacted:password>\n"),
        ("[db]\npassword = swordfish\n", "[db]\npassword = <redacted:password>\n"),
        ('{"password": "hunter2", "n": 1}', '{"password": "<redacted:password>", "n": 1}'),
        (r"{\"password\": \"hunter2\", \"n\": 1}", r"{\"password\": \"<redacted:password>\", \"n\": 1}"),
        (r"A_PASSWORD=hunter2\nB=1", r"A_PASSWORD=<redacted:password>\nB=1"),
        ("<password>swordfish</password>", "<password><redacted:password></password>"),
        ("mysql --password hunter2x app", "mysql --password <redacted:password> app"),
        ("Server=s;Password=swordfish;User=u", "Server=s;Password=<redacted:password>;User=u"),
        ("https://h/x?token=abc123def&page=2", "https://h/x?token=<redacted:token>&page=2"),
        ('passphrase: "correct horse battery staple"', 'passphrase: "<redacted:password>"'),
        ("пароль: qwerty12", "пароль: <redacted:password>"),
        ("密码是abc12345", "密码是<redacted:password>"),
        ("postgres://u:p@ss@h/db", "postgres://u:<redacted:url-password>@h/db"),
        ("redis://:s3cret@h/0", "redis://:<redacted:url-password>@h/0"),
        ("curl -u ada:swordfish https://h", "curl -u ada:<redacted:password> https://h"),
        ("Authorization: Basic YWRhOnN3b3Jk", "Authorization: Basic <redacted:basic-auth>"),
        ("client_secret: Zx81kQ09vbTq77Lw", "client_secret: <redacted:secret>"),
    ],
)
def test_the_sentence_or_setting_around_stays(before: str, after: str) -> None:
    assert redact(before, "redact").text == after


def test_a_key_whose_end_is_cut_off_goes_and_the_talk_after_it_stays() -> None:
    rng = random.Random(3)
    key = SECRETS["private-key"][0](rng).rsplit("\n", 1)[0]
    redacted = redact(f"log:\n{key}\n\nThen we went home.", "redact").text
    assert redacted == "log:\n<redacted:private-key>\n\nThen we went home."


def test_counts_are_by_kind() -> None:
    rng = random.Random(4)
    token = SECRETS["github-token"][0]
    text = f"{token(rng)} and {token(rng)}, password is hunter2x"
    assert redact(text, "redact").counts == {"github-token": 2, "password": 1}


def test_policy_block_names_the_kinds_and_not_the_secret() -> None:
    secret = SECRETS["stripe-key"][0](random.Random(5))
    with pytest.raises(InvalidInput) as error:
        redact(f"use {secret}", "block")
    assert error.value.field == "text"
    assert "stripe-key" in error.value.message
    assert secret not in error.value.message


def test_policy_block_lets_harmless_text_through() -> None:
    assert redact("nothing to see", "block").text == "nothing to see"


def test_policy_off_changes_nothing() -> None:
    secret = f"key {SECRETS['github-token'][0](random.Random(6))}"
    redaction = redact(secret, "off")
    assert (redaction.text, redaction.counts) == (secret, {})


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InvalidInput):
        redact("a\ud800b", "redact")


@pytest.mark.parametrize("name", hostile_inputs())
def test_a_hostile_megabyte_takes_no_longer_than_any_other(name: str) -> None:
    text = hostile_inputs()[name]
    started = time.perf_counter()
    redact(text, "redact")
    assert time.perf_counter() - started < PATIENCE_SECONDS


PIECES = st.sampled_from(
    [
        *("password", "token", "secret", "api_key", " is ", "=", ": ", '"', "'", "`", "\\", "\\n", " ", "\n"),
        *(
            "://",
            "@",
            "user:",
            "<",
            ">",
            "</",
            "--",
            "Bearer ",
            "hunter2x",
            "swordfish",
            ".",
            ",",
            "&a=",
            "é",
            "密码",
        ),
        *("<redacted:password>", "<redacted:github-token>", "<redacted:", "eyJ" + "a1" * 8, "1234567890:"),
        *(make(random.Random(8)) for make, _ in SECRETS.values()),
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text, "redact").text
    twice = redact(once, "redact")
    assert twice.text == once
    assert twice.counts == {}


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    redaction = redact(text.encode("utf-8", "ignore").decode(), "redact")
    assert isinstance(redaction.text, str)
