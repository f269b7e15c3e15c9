"""Set-up, log-in and log-out."""

from __future__ import annotations

import httpx
import pytest

from noesis.api.access import SESSION_COOKIE
from noesis.runtime import Noesis
from tests.dashboard.conftest import PASSWORD


async def set_up(visitor: httpx.AsyncClient, noesis: Noesis) -> httpx.Response:
    key = await noesis.admin.new_setup_secret()
    return await visitor.post("/setup", data={"key": key, "password": PASSWORD, "again": PASSWORD})


async def test_the_link_sets_the_password_and_logs_in(visitor: httpx.AsyncClient, noesis: Noesis) -> None:
    answer = await set_up(visitor, noesis)
    assert (answer.status_code, answer.headers["location"]) == (303, "/start?said=welcome")
    first = await visitor.get("/start?said=welcome")
    assert "you are logged in" in first.text
    assert "http://localhost/plugin/openclaw-noesis.tgz" in first.text


async def test_the_cookie_is_closed_to_scripts_and_to_other_sites(
    visitor: httpx.AsyncClient, noesis: Noesis
) -> None:
    cookie = (await set_up(visitor, noesis)).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie.replace("samesite", "")


async def test_the_link_works_once(visitor: httpx.AsyncClient, noesis: Noesis) -> None:
    key = await noesis.admin.new_setup_secret()
    fields = {"key": key, "password": PASSWORD, "again": PASSWORD}
    assert (await visitor.post("/setup", data=fields)).status_code == 303
    again = await visitor.post(
        "/setup", data=fields | {"password": "another sentence", "again": "another sentence"}
    )
    assert again.headers["location"] == "/login"
    assert (
        not await noesis.admin.is_set_up()
        or (await visitor.post("/login", data={"password": PASSWORD})).status_code == 303
    )


async def test_a_wrong_link_says_so_and_sets_nothing(visitor: httpx.AsyncClient, noesis: Noesis) -> None:
    await noesis.admin.new_setup_secret()
    for key in ("", "wrong", "é"):
        shown = await visitor.get("/setup", params={"key": key})
        sent = await visitor.post("/setup", data={"key": key, "password": PASSWORD, "again": PASSWORD})
        assert (shown.status_code, sent.status_code) == (403, 403)
        assert "does not work" in shown.text
    assert not await noesis.admin.is_set_up()


WEAK = [
    ("short", "short", "password", "at least 10 characters"),
    ("password123", "password123", "password", "everybody tries first"),
    (PASSWORD, "something else", "again", "not the same"),
]


async def test_a_weak_or_mistyped_password_is_refused_at_its_field(
    visitor: httpx.AsyncClient, noesis: Noesis
) -> None:
    key = await noesis.admin.new_setup_secret()
    for password, again, field, message in WEAK:
        answer = await visitor.post("/setup", data={"key": key, "password": password, "again": again})
        assert answer.status_code == 400
        assert f'id="{field}-mistake"' in answer.text
        assert message in answer.text
        assert f'value="{password}"' not in answer.text
    assert not await noesis.admin.is_set_up()


async def test_a_page_leads_to_the_log_in_and_back(visitor: httpx.AsyncClient, noesis: Noesis) -> None:
    await noesis.admin.set_password(PASSWORD)
    asked = await visitor.get("/?q=two+words&agent=planner")
    assert asked.status_code == 303
    login = await visitor.get(asked.headers["location"])
    assert 'name="next" value="/?q=two+words&amp;agent=planner"' in login.text
    done = await visitor.post("/login", data={"password": PASSWORD, "next": "/?q=two+words&agent=planner"})
    assert (done.status_code, done.headers["location"]) == (303, "/?q=two+words&agent=planner")
    assert (await visitor.get("/login")).headers["location"] == "/"


async def test_a_machine_without_a_session_gets_401_and_no_page(visitor: httpx.AsyncClient) -> None:
    answer = await visitor.get("/", headers={"accept": "*/*"})
    assert answer.status_code == 401
    assert answer.json()["code"] == "login_needed"


async def test_a_wrong_password_says_so_and_the_sixth_has_to_wait(
    visitor: httpx.AsyncClient, noesis: Noesis
) -> None:
    await noesis.admin.set_password(PASSWORD)
    tries = [await visitor.post("/login", data={"password": f"wrong {number}"}) for number in range(6)]
    assert [answer.status_code for answer in tries] == [401] * 5 + [429]
    assert "The password is not right." in tries[0].text
    assert "Too many wrong passwords" in tries[5].text
    assert int(tries[5].headers["retry-after"]) > 0
    assert SESSION_COOKIE not in visitor.cookies
    outcomes = {(entry.action, entry.outcome) for entry in await noesis.audit.newest(10)}
    assert ("log-in", "refused") in outcomes


async def test_before_the_set_up_the_log_in_tells_of_the_link(visitor: httpx.AsyncClient) -> None:
    page = await visitor.get("/login")
    assert "no password yet" in page.text
    assert 'type="password"' not in page.text


async def test_logging_out_ends_every_session(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    copied = admin.cookies[SESSION_COOKIE]
    answer = await admin.post("/logout")
    assert answer.headers["location"] == "/login?said=logged-out"
    assert not await noesis.admin.session_is_valid(copied)
    assert (await admin.get("/")).status_code == 303


async def test_a_form_of_another_site_changes_nothing(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "", "origin": "https://evil.example"},
    ):
        answer = await admin.post("/logout", headers=headers)
        assert answer.status_code == 403
    assert await noesis.admin.session_is_valid(admin.cookies[SESSION_COOKIE])


class TestSecureCookies:
    """Behind a proxy with HTTPS."""

    @pytest.fixture
    def environ(self) -> dict[str, str]:
        return {"NOESIS_SECURE_COOKIES": "true"}

    async def test_the_cookie_travels_encrypted_only(
        self, visitor: httpx.AsyncClient, noesis: Noesis
    ) -> None:
        answer = await set_up(visitor, noesis)
        assert "; secure" in answer.headers["set-cookie"].lower()

    async def test_examples_name_the_address_that_people_see(self, admin: httpx.AsyncClient) -> None:
        assert "https://localhost/api/v1/memories" in (await admin.get("/")).text
