"""Makes up secrets and harmless lines at run time, so that no file holds anything like a real key."""

import base64
import json
import random
import string
import uuid
from collections.abc import Callable

LOWER = string.ascii_lowercase
ALNUM = string.ascii_letters + string.digits
URL_SAFE = ALNUM + "-_"
HEX = "0123456789abcdef"
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

Random = random.Random


def some(rng: Random, alphabet: str, length: int) -> str:
    """`length` characters with at least one letter and one digit among them, as any real key has."""
    while True:
        made = "".join(rng.choices(alphabet, k=length))
        if any(c.isalpha() for c in made) and any(c.isdigit() for c in made):
            return made


def jwt(rng: Random) -> str:
    header = (
        base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
    )
    body = base64.urlsafe_b64encode(json.dumps({"sub": rng.randrange(10**9)}).encode()).decode().rstrip("=")
    return ".".join((header, body, some(rng, URL_SAFE, 43)))


def pem(rng: Random) -> str:
    kind = rng.choice(("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "))
    dashes = "-" * 5
    lines = [some(rng, ALNUM + "+/", 64) for _ in range(5)]
    return "\n".join(
        (f"{dashes}BEGIN {kind}PRIVATE KEY{dashes}", *lines, f"{dashes}END {kind}PRIVATE KEY{dashes}")
    )


def shape(*parts: str | tuple[str, int]) -> Callable[[Random], str]:
    """A maker of secrets: fixed parts, and (alphabet, length) for those made up."""
    return lambda rng: "".join(part if isinstance(part, str) else some(rng, *part) for part in parts)


# The secret itself, and the words it needs around it to be known as one.
SECRETS: dict[str, tuple[Callable[[Random], str], str]] = {
    "aws-access-key": (shape("AK", "IA", (BASE32, 16)), "{}"),
    "aws-secret-key": (shape((ALNUM + "+/", 40)), "aws_secret_access_key = {}"),
    "github-token": (shape("gh", "p_", (ALNUM, 36)), "{}"),
    "github-token (app)": (shape("gh", "s_", (ALNUM, 36)), "{}"),
    "github-token (fine)": (shape("github", "_pat_", (ALNUM, 22), "_", (ALNUM, 59)), "{}"),
    "gitlab-token": (shape("gl", "pat-", (URL_SAFE, 20)), "{}"),
    "openai-key": (shape("s", "k-proj-", (ALNUM, 48)), "{}"),
    "anthropic-key": (shape("s", "k-ant-", "api03-", (URL_SAFE, 93)), "{}"),
    "google-key": (shape("AI", "za", (URL_SAFE, 35)), "{}"),
    "huggingface-token": (shape("h", "f_", (ALNUM, 34)), "{}"),
    "slack-token": (shape("xo", "xb-", (string.digits + "a", 12), "-", (ALNUM, 24)), "{}"),
    "stripe-key": (shape("sk_", "live_", (ALNUM, 24)), "{}"),
    "npm-token": (shape("np", "m_", (ALNUM, 36)), "{}"),
    "telegram-token": (shape("123456", "7890:", (URL_SAFE, 35)), "bot{}/getMe"),
    "jwt": (jwt, "{}"),
    "private-key": (pem, "{}"),
    "bearer-token": (shape((ALNUM, 32)), "Authorization: Bearer {}"),
    "url-password": (shape((ALNUM, 14)), "postgres://app:{}@db.internal:5432/app"),
    "api-key": (shape((ALNUM, 32)), "SERVICE_API_KEY={}"),
    "password": (shape((ALNUM + "!$%+", 12)), "the password is {}"),
    "noesis-token": (shape("ns", "e_", (LOWER + "3", 8), "_", (URL_SAFE, 43)), "{}"),
    "age-key": (shape("AGE-", "SECRET-KEY-", "1", (BASE32, 58)), "{}"),
    "sendgrid-key": (shape("S", "G.", (URL_SAFE, 22), ".", (URL_SAFE, 43)), "{}"),
    "twilio-key": (shape("S", "K", (HEX, 32)), "{}"),
}

# Where a secret turns up: each takes the secret with the words it needs.
FORMS: dict[str, Callable[[str], str]] = {
    "alone": str,
    "in a user's sentence": lambda s: f"please keep this in mind: {s} and tell nobody about it",
    "in an assistant's answer": lambda s: f"Sure! I put it down:\n\n> {s}\n\nAnything else?",
    "in a fence": lambda s: f"```sh\n{s}\n```",
    "in JSON": lambda s: json.dumps({"role": "tool", "content": f"result:\n{s}\ndone"}),
    "in JSON within JSON": lambda s: json.dumps({"content": json.dumps({"out": f"result:\n{s}\ndone"})}),
    "after other scripts": lambda s: f"这是 {s} 好的",
    "in a list": lambda s: f"- first\n- {s}\n- last",
    "in brackets": lambda s: f"see the note ({s})",
    "as a quotation": lambda s: f'he wrote "{s}" and left',
}

CODE = (
    "def token_count(text: str) -> int:",
    "password = getpass.getpass()",
    "const token = await getToken(user.id);",
    "if password != confirm_password: raise ValueError",
    "self.api_key = api_key or os.environ['API_KEY']",
    "export PATH=$HOME/bin:$PATH PWD=/srv/app",
    "password: str = field(repr=False)",
    "headers = {'Authorization': f'Bearer {token}'}",
    "max_tokens=4096, temperature=0.2",
    "curl -u $USER:$PASS https://example.org",
)
PROSE = (
    "the password policy is 14 characters",
    "the token is expired, the secret is stored in the vault",
    "Password is required and must be at least 12 characters",
    "a risk-based review of task-1234567890-abc is due",
    "the bearer of good news came at 10:45:31",
    "API key rotation is every 90 days",
    "the password is base64-encoded, the token is a JWT",
    "secret santa is on 2026-12-24",
)


def benign_line(rng: Random) -> str:
    """One harmless line of the sorts that hold long runs of letters and digits, or words about secrets."""
    data = rng.randbytes(rng.randrange(24, 180))
    return rng.choice(
        (
            lambda: f"commit {rng.randbytes(20).hex()} fixes #{rng.randrange(9999)}",
            lambda: f"id {uuid.UUID(int=rng.getrandbits(128))} moved",
            lambda: f"![shot](data:image/png;base64,{base64.b64encode(data).decode()})",
            lambda: f"{rng.randbytes(32).hex()}  dist/app-{rng.randrange(99)}.{rng.randrange(9)}.tar.gz",
            lambda: f"sha512-{base64.b64encode(rng.randbytes(64)).decode()}",
            lambda: (
                f"/home/{some(rng, LOWER + '1', 6)}/src/{some(rng, URL_SAFE, 20)}/main.py:{rng.randrange(900)}"
            ),
            lambda: (
                f"https://example.org/{some(rng, URL_SAFE, 24)}?page={rng.randrange(99)}#L{rng.randrange(99)}"
            ),
            lambda: f"urlsafe {base64.urlsafe_b64encode(data).decode()}",
            lambda: f"{rng.choice(CODE)}  # {rng.randrange(10**6)}",
            lambda: f"{rng.choice(PROSE)} ({rng.randrange(10**6)})",
            lambda: f"image: app@sha256:{rng.randbytes(32).hex()}",
            lambda: (
                f"2026-03-{rng.randrange(10, 29)}T10:00:00Z INFO request_id={rng.randbytes(8).hex()} took 12ms"
            ),
        )
    )()
