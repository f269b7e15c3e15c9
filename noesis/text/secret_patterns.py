"""The shapes of the secrets that can be told by their shape alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import re2

from noesis.text.secret_values import is_token

# What may stand before a secret: a word boundary, an underscore, or an escape of JSON or of a URL
# whose last character would otherwise hide the boundary.
_START = r"(?:\b|_|\\[nrt]|\\u00[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2})"
_LINE = r"(?:\s|\\+[nr])+"


class Secret(msgspec.Struct, frozen=True):
    """Where a secret stands (byte offsets) and what it is."""

    start: int
    end: int
    kind: str


class Shape(msgspec.Struct, frozen=True):
    """A kind of secret: group 1 of `pattern` is what must go, if `accept` agrees."""

    kind: str
    pattern: re2._Regexp
    accept: Callable[[str], bool] | None = None


def find_shape(shape: Shape, data: bytes) -> Iterator[Secret]:
    """Every secret of this shape in `data` (UTF-8), from left to right."""
    for match in shape.pattern.finditer(data):
        if shape.accept is None or shape.accept(match.group(1).decode("utf-8", "replace")):
            yield Secret(match.start(1), match.end(1), shape.kind)


def _has_random_run(secret: str) -> bool:
    """Whether 14 letters and digits stand together with both kinds among them: no hyphenated name."""
    runs = secret.replace("_", "-").split("-")
    return any(len(run) >= 14 and not run.isalpha() and not run.isdigit() for run in runs)


def _is_mixed(secret: str) -> bool:
    """Whether the secret part has a digit or both cases: a name in one case is no token."""
    tail = secret.split("_", 2)[-1]
    return any(char.isdigit() for char in tail) or (tail != tail.lower() and tail != tail.upper())


def _is_literal(secret: str) -> bool:
    """Whether this is a value and not a variable, a mask, an earlier placeholder or the word itself."""
    is_reference = secret.startswith(("<", "$", "{", "[")) or set(secret) <= set("*xX.")
    return not is_reference and secret.lower() not in (
        "pass",
        "password",
        "passwd",
        "pwd",
        "pw",
        "token",
        "secret",
    )


def _shape(kind: str, pattern: str, accept: Callable[[str], bool] | None = None) -> Shape:
    return Shape(kind, re2.compile(pattern), accept)


# The order matters where one shape contains another: the more telling name comes first.
SHAPES: tuple[Shape, ...] = (
    _shape(
        "private-key",
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-{1,4}[^-])*"
        r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)",
    ),
    _shape(  # a key whose end was cut off: only lines that look like a key's
        "private-key",
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:" + _LINE + r"(?:(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]+|[A-Za-z0-9+/]{16,}={0,2}))+)",
    ),
    _shape("age-key", r"(AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{30,})"),
    _shape("noesis-token", _START + r"(nse_[A-Za-z0-9-]{1,64}_[A-Za-z0-9_-]{16,})", _is_mixed),
    _shape(
        "github-token",
        r"(gh[pousr]_[A-Za-z0-9_]{20,}(?:[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{16,}){0,2}|github_pat_[A-Za-z0-9_]{20,})",
    ),
    _shape(
        "gitlab-token",
        r"(gl(?:pat|dt|rt|rtr|ptt|ft|soat|cbt|oas|agent|imt|ffct)-[A-Za-z0-9_-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,})?)",
    ),
    _shape("anthropic-key", r"(sk-ant-[A-Za-z0-9_-]{16,})"),
    _shape("openrouter-key", r"(sk-or-v1-[A-Za-z0-9]{20,})"),
    _shape("openai-key", _START + r"(sk-[A-Za-z0-9_-]{18,})", _has_random_run),
    _shape("google-key", _START + r"(AIza[0-9A-Za-z_-]{30,})"),
    _shape("google-secret", r"(GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{30,})"),
    _shape("huggingface-token", _START + r"((?:hf|api_org)_[A-Za-z0-9]{30,})"),
    _shape("slack-token", r"(xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,})"),
    _shape("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{20,})"),
    _shape("stripe-key", r"((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{24,}={0,2})"),
    _shape("npm-token", _START + r"(npm_[A-Za-z0-9]{30,})"),
    _shape("pypi-token", r"(pypi-[A-Za-z0-9_-]{40,})"),
    _shape("sendgrid-key", _START + r"(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    _shape("twilio-key", _START + r"(SK[0-9a-f]{32})\b"),
    _shape("mailgun-key", _START + r"(key-[0-9a-f]{32})\b"),
    _shape("mailchimp-key", _START + r"([0-9a-f]{32}-us[0-9]{1,2})\b"),
    _shape("digitalocean-token", r"(do[opr]_v1_[0-9a-f]{40,})"),
    _shape("shopify-token", r"(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})"),
    _shape("docker-token", r"(dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,})"),
    _shape("vault-token", _START + r"(hv[sbr]\.[A-Za-z0-9_-]{24,})"),
    _shape("databricks-token", _START + r"(dapi[0-9a-f]{32}(?:-[0-9])?)\b"),
    _shape("atlassian-token", r"(ATATT3x[A-Za-z0-9_=-]{40,})"),
    _shape("grafana-token", r"(gl(?:sa|c)_[A-Za-z0-9+/=_]{30,})"),
    _shape("sentry-token", r"(sntry[su]_[A-Za-z0-9+/=_-]{30,})"),
    _shape("tailscale-key", r"(tskey-[a-z]+-[A-Za-z0-9-]{16,})"),
    _shape(
        "api-key",
        _START + r"((?:gsk_|xai-|r8_|pplx-|nvapi-|fw_|lin_api_|ntn_|PMAK-)[A-Za-z0-9_-]{30,})",
        _is_mixed,
    ),
    _shape("aws-access-key", _START + r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b"),
    _shape(
        "aws-secret-key",
        r"(?i)(?:aws|secret)[a-z0-9_ .-]{0,30}key\\*[\"'`]?\s{0,4}(?:=>|:=|[:=>]|\bis\b)\s{0,4}\\*[\"'`]?"
        r"([a-z0-9/+]{40})(?:[^a-z0-9/+=]|$)",
    ),
    _shape("azure-key", r"(?i)(?:account|sharedaccess)key=([a-z0-9+/]{40,}={0,2})"),
    _shape("telegram-token", r"(?:\b|bot|\\[nrt])([0-9]{8,10}:[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)"),
    _shape("discord-token", _START + r"([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})"),
    _shape("discord-webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/([A-Za-z0-9_-]{30,})"),
    _shape(
        "jwt",
        r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,})?|"
        r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){2,4})",
    ),
    _shape("bearer-token", r"(?i)\bbearer(?:\s|%20|\\[nt]){1,4}\\*[\"'`]?([a-z0-9._~+/-]{12,}=*)", is_token),
    _shape("basic-auth", r"(?i)\bauthorization\\*[\"'`]?\s*[:=]\s*\\*[\"'`]?basic\s+([a-z0-9+/]{8,}={0,2})"),
    _shape("url-password", r"(?i)\b[a-z][a-z0-9+.-]{1,30}://[^\s/?#\"'`:@<>]*:([^\s/?#\"'`]+)@", _is_literal),
    _shape("url-token", r"(?i)\b(?:https?|git|ssh)://([a-z0-9_-]{24,})@", _has_random_run),
    _shape("password", r"\bcurl\b[^\n|;]{0,200}\s-u\s*[\"']?[^\s:\"']+:([^\s\"']+)", _is_literal),
)


def _all_at_once() -> re2.Set:
    together = re2.Set.SearchSet()
    for shape in SHAPES:
        together.Add(shape.pattern.pattern)
    together.Compile()
    return together


_TOGETHER = _all_at_once()


def shapes_in(data: bytes) -> list[int]:
    """Which of SHAPES match somewhere in `data`, by their numbers in order.

    One pass for all of them: hardly any text holds a secret, and each shape by itself takes a pass.
    """
    return sorted(_TOGETHER.Match(data) or ())
