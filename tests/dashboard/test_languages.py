"""A page speaks one language: that of the person's choice, the setting or the browser, and nothing is left English."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from noesis.dashboard import messages, times
from noesis.dashboard.language import COOKIE, preferred
from noesis.dashboard.recognising import told
from noesis.dashboard.rendering import NAVIGATION
from noesis.dashboard.translation import ENGLISH, languages, name_of, number, speak
from noesis.errors import EmbedderUnavailable, NotFound, TooLarge
from noesis.runtime import Noesis
from noesis.settings import describe
from tests.dashboard.conftest import PASSWORD, remember
from tests.support import Product

OTHERS = sorted(set(languages()) - {ENGLISH})
PAGES = (
    *(entry.href for entry in NAVIGATION),
    "/?q=heron",
    "/?q=heron&agent=nobody",
    "/memories/{id}",
    "/memories/{id}?view=rendered&why=heron",
    "/memories/{id}/edit",
    "/memories/{id}/delete",
    "/agents/planner?prompt=heron",
    "/archive/next",
    "/backups?said=backup-started",
    "/inbox/duplicates",
    "/sources/new",
    "/start",
)


@pytest.fixture
async def german(admin: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    admin.cookies.set(COOKIE, "de")
    yield admin
    speak(ENGLISH)


def shown(page: str) -> str:
    """What a reader sees of a page, without what is marked as English."""
    text = re.sub(r"<(span|tbody|td|li|p|dl|h2)\b[^>]* lang=\"en\".*?</\1>", " ", page, flags=re.DOTALL)
    text = re.sub(r"<(code|pre|option)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "\n", text)).split())


def english_sentences(code: str) -> list[str]:
    """The catalogue's messages of several words, as far as the language says them otherwise."""
    texts = languages()[code].texts
    plain = [key[1] for key, said in texts.items() if key[1] not in said and not re.search(r"[<%]", key[1])]
    return [message for message in plain if message.count(" ") >= 2]


@pytest.mark.parametrize("code", [ENGLISH, *OTHERS])
async def test_every_page_speaks_the_chosen_language(
    admin: httpx.AsyncClient, noesis: Noesis, code: str
) -> None:
    memory = await remember(noesis, "A heron stands at the weir.", source="birds.md", tags=("water",))
    admin.cookies.set(COOKIE, code)
    for path in PAGES:
        answer = await admin.get(path.format(id=memory), follow_redirects=True)
        assert answer.status_code == 200, path
        assert f'<html lang="{code}">' in answer.text, path
        assert answer.headers["content-language"] == code
        assert {"Cookie", "Accept-Language"} <= set(answer.headers["vary"].split(", "))
        assert answer.headers["cache-control"] == "no-store"
        if code != ENGLISH:
            seen = shown(answer.text)
            assert [each for each in english_sentences(code) if each in seen] == [], path
    speak(ENGLISH)


@pytest.mark.parametrize(
    ("path", "status"), [("/nowhere", 404), ("/?q=heron&mode=magic", 400), ("/login", 200)]
)
async def test_errors_and_the_way_in_speak_it_too(
    visitor: httpx.AsyncClient, admin: httpx.AsyncClient, path: str, status: int
) -> None:
    browser = visitor if path == "/login" else admin
    answer = await browser.get(path, headers={"accept-language": "de-AT, en;q=0.5"})
    assert answer.status_code == status
    assert '<html lang="de">' in answer.text
    seen = shown(answer.text)
    assert [each for each in english_sentences("de") if each in seen] == []


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("zh-CN", "zh"),
        ("fr, zh;q=0.2, en;q=0.1", "zh"),
        ("en;q=0.4, de;q=0.6", "de"),
        ("de;q=0, en", "en"),
        ("de;q=much, zh;q=2", None),
        ("fr", None),
        ("*", None),
        ("", None),
        (";;,,q=1", None),
    ],
)
def test_the_browser_s_wish_is_understood(header: str, code: str | None) -> None:
    assert preferred(header) == code


class TestWithASetting:
    @pytest.fixture
    def environ(self) -> dict[str, str]:
        return {"NOESIS_LANGUAGE": "zh"}

    async def test_a_choice_wins_over_the_setting_and_that_over_the_browser(
        self, visitor: httpx.AsyncClient
    ) -> None:
        wish = {"accept-language": "en"}
        assert '<html lang="zh">' in (await visitor.get("/login", headers=wish)).text
        visitor.cookies.set(COOKIE, "de")
        assert '<html lang="de">' in (await visitor.get("/login", headers=wish)).text
        visitor.cookies.set(COOKIE, "tlh")
        assert '<html lang="zh">' in (await visitor.get("/login", headers=wish)).text


async def test_without_a_setting_the_browser_decides_and_else_it_is_english(
    visitor: httpx.AsyncClient,
) -> None:
    assert '<html lang="zh">' in (await visitor.get("/login", headers={"accept-language": "zh"})).text
    assert '<html lang="en">' in (await visitor.get("/login", headers={"accept-language": "fr"})).text
    assert '<html lang="en">' in (await visitor.get("/login")).text


def test_the_setting_knows_every_language() -> None:
    about, default = describe()["NOESIS_LANGUAGE"]
    assert default == "auto"
    assert set(about.choices) == {"auto", *languages()}


class TestChoosing:
    async def test_the_choice_is_kept_in_a_cookie_and_leads_back(self, visitor: httpx.AsyncClient) -> None:
        form = {"language": "de", "back": "/login?next=/stats"}
        answer = await visitor.post("/language", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/stats")
        assert {"HttpOnly", "SameSite=lax"} <= set(answer.headers["set-cookie"].split("; "))
        assert "Sprache" in (await visitor.get("/login")).text
        await visitor.post("/language", data={"language": "auto", "back": "/login"})
        assert COOKIE not in visitor.cookies
        assert '<html lang="en">' in (await visitor.get("/login")).text

    async def test_every_page_offers_them_in_their_own_names(
        self, visitor: httpx.AsyncClient, admin: httpx.AsyncClient
    ) -> None:
        for browser, path in ((visitor, "/login"), (admin, "/?q=heron&said=edited")):
            page = (await browser.get(path)).text
            for code in languages():
                assert f'value="{code}" lang="{code}"' in page
                assert f">{name_of(code)}</button>" in page
        assert 'name="back" value="/?q=heron"' in page

    async def test_the_answer_to_a_form_leads_back_to_its_page(self, admin: httpx.AsyncClient) -> None:
        page = (await admin.post("/agents/tokens", data={"name": "", "role": "agent", "agents": ""})).text
        assert 'name="back" value="/agents"' in page

    async def test_no_language_of_the_list_and_no_other_site_is_taken(
        self, visitor: httpx.AsyncClient
    ) -> None:
        assert (await visitor.post("/language", data={"language": "tlh"})).status_code == 400
        visitor.cookies.set(COOKIE, "de")
        foreign = {"sec-fetch-site": "cross-site"}
        answer = await visitor.post("/language", data={"language": "zh"}, headers=foreign)
        assert answer.status_code == 403
        away = await visitor.post("/language", data={"language": "zh", "back": "//elsewhere.example/"})
        assert away.headers["location"] == "/"


async def test_a_memory_s_text_is_shown_as_it_was_written(german: httpx.AsyncClient, noesis: Noesis) -> None:
    memory = await remember(noesis, "Nothing was changed. Saved. Delete this memory?")
    page = (await german.get(f"/memories/{memory}?view=raw")).text
    assert "Nothing was changed. Saved. Delete this memory?" in page
    assert "Verlauf" in page


async def test_the_api_speaks_english_whatever_is_chosen(product: Product, admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/api/v1/memories/x", headers={"accept-language": "de", "accept": "text/html"})
    assert answer.status_code == 401
    assert answer.json()["title"] == "A valid token is needed"


async def test_a_mistake_in_a_form_is_told_in_the_page_s_language(
    german: httpx.AsyncClient, noesis: Noesis
) -> None:
    memory = await remember(noesis, "A heron.")
    fields = {"text": "A heron.", "memory_type": "fact", "priority": "much", "tags": ""}
    page = (await german.post(f"/memories/{memory}/edit", data=fields)).text
    assert "Die Priorität muss eine ganze Zahl von 0 bis 100 sein." in page
    page = (
        await german.post(f"/memories/{memory}/edit", data=fields | {"priority": "", "ttl_days": "-1"})
    ).text
    assert "Die Tage müssen zwischen 0 (nie) und" in page


async def test_a_wrong_password_is_told_in_it(visitor: httpx.AsyncClient, noesis: Noesis) -> None:
    await noesis.admin.set_password(PASSWORD)
    answer = await visitor.post("/login", data={"password": "x"}, headers={"accept-language": "zh"})
    assert "密码不正确。" in answer.text


class TestRecognising:
    @pytest.fixture(autouse=True)
    def in_german(self) -> Iterator[None]:
        speak("de")
        yield
        speak(ENGLISH)

    def test_sentences_are_recognised_one_by_one_with_their_values(self) -> None:
        said = told("3,210 rows are readable. 1 text waits for its vector.")
        assert said == "3.210 Zeilen sind lesbar. 1 Text wartet auf seinen Vektor."
        assert told("0.5 GB are free on the data directory's disk.").startswith("0,5 GB sind")

    def test_a_reason_within_a_sentence_is_said_as_well(self) -> None:
        said = told("Answered by keyword only: The embedder does not answer.")
        assert said == "Nur nach Wörtern beantwortet: Der Embedder antwortet nicht."

    def test_what_is_not_known_stays_english_and_says_so(self) -> None:
        said = told("No cleanup has run yet. The <moon> is full.")
        assert said == 'Noch wurde nicht aufgeräumt. <span lang="en">The &lt;moon&gt; is full.</span>'

    @pytest.mark.parametrize(
        ("error", "lead"),
        [
            (NotFound("No such moon."), "Das gibt es nicht:"),
            (TooLarge("The moon is too large."), "Das ist zu groß:"),
            (EmbedderUnavailable("The moon is away."), "Der Embedder liefert keine Vektoren:"),
        ],
    )
    def test_an_error_that_is_not_known_gets_a_lead_of_its_kind(self, error: NotFound, lead: str) -> None:
        assert told(error) == f'{lead} <span lang="en">{error.message}</span>'

    def test_numbers_ages_and_sizes_follow_the_language(self) -> None:
        assert number(1234567.891, 2) == "1.234.567,89"
        assert times.age(0, 3 * 86_400_000) == "vor 3 Tagen"
        assert times.age(0, 86_400_000) == "vor 1 Tag"
        speak("zh")
        assert number(1234.5, 1) == "1,234.5"
        assert times.age(0, 3 * 86_400_000) == "3 天前"

    def test_a_message_after_a_redirect_is_said_in_it(self) -> None:
        found = messages.message_of("edited")
        assert found is not None
        assert found.text == "Gespeichert."


def test_in_english_everything_is_said_as_it_was() -> None:
    assert told("The <moon> is full.") == "The &lt;moon&gt; is full."
    assert told(NotFound("No such moon.")) == "No such moon."
