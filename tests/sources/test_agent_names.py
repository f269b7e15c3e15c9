"""Names of a host's agents: ours are valid, each leads back to one id, and no two ids share one."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noesis.sources.agent_names import agent_name, find_host_id, host_id_of, id_in_config

VALID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

ids = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="abz019-_.", max_size=80),
    st.text(alphabet="ax-_0fh", max_size=12).map(lambda text: f"x--{text}"),
    st.text(alphabet="a0f", max_size=62).map(lambda text: f"h--{text}"),
)
profiles = st.none() | ids


@given(ids, profiles)
@example("", None)
@example("\ud800", "\udcff")
def test_a_name_is_always_valid(host_id: str, profile: str | None) -> None:
    assert VALID.fullmatch(agent_name(host_id, profile))


@given(ids, profiles)
@example("x--a", None)
@example("a", "")
def test_a_name_leads_back_to_the_id_and_profile_it_was_made_of(host_id: str, profile: str | None) -> None:
    name = agent_name(host_id, profile)
    found = host_id_of(name)
    assert found == (host_id, profile) or (found is None and name.startswith("h--"))
    assert find_host_id(name, [("other", None), (host_id, profile)]) == (host_id, profile)


@given(st.tuples(ids, profiles), st.tuples(ids, profiles))
@example(("work__main", None), ("main", "work"))
@example(("x--a_2e", None), ("a.", None))
def test_two_agents_never_share_a_name(one: tuple[str, str | None], other: tuple[str, str | None]) -> None:
    assert (agent_name(*one) == agent_name(*other)) == (one == other)


@given(st.text(alphabet="ax-_0f9", max_size=20))
def test_what_leads_back_is_what_the_name_is_made_of(name: str) -> None:
    found = host_id_of(name)
    assert found is None or agent_name(*found) == name


@pytest.mark.parametrize("host_id", ["main", "ops-2", "a_b", "0", "a" * 64])
def test_a_valid_id_keeps_its_name(host_id: str) -> None:
    assert agent_name(host_id) == host_id


@pytest.mark.parametrize(
    ("host_id", "profile", "name"),
    [
        ("Main", None, "x--_4dain"),
        ("main", "work", "x--work__main"),
        ("аdmin", None, "x--_d0_b0dmin"),
        ("x--main", None, "x--x--main"),
    ],
)
def test_another_is_written_out(host_id: str, profile: str | None, name: str) -> None:
    """The third begins with a Cyrillic letter that looks like `a`."""
    assert agent_name(host_id, profile) == name


def test_what_is_too_long_is_found_again_among_the_known_ids_only() -> None:
    long = "Z" * 40
    name = agent_name(long)
    assert host_id_of(name) is None
    assert find_host_id(name, [("main", None)]) is None
    assert find_host_id(name, [("main", None), (long, None)]) == (long, None)


@pytest.mark.parametrize(
    ("written", "host_id"),
    [("Main", "main"), ("  My Agent! ", "my-agent"), ("", "main"), ("!!", "main"), ("b" * 70, "b" * 64)],
)
def test_ids_in_the_configuration_are_read_as_the_host_reads_them(written: str, host_id: str) -> None:
    assert id_in_config(written) == host_id
