"""What compose.yaml and the Containerfile promise: one published port, no rights, no secret in sight."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("api", "worker")
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")


def resolved(text: str, **values: str) -> str:
    """Fill in ${NAME:-default} as compose does."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: values.get(found[1]) or found[2], text)


def mounts(service: str) -> dict[str, tuple[str, str]]:
    """Return target → (source, options) of a service's volumes."""
    entries = (resolved(entry).split(":") for entry in SERVICES[service].get("volumes", []))
    return {target: (source, options[0] if options else "rw") for source, target, *options in entries}


def test_the_stack_is_these_four_services() -> None:
    assert set(SERVICES) == {"api", "worker", "redis", "ollama"}


def test_only_the_api_is_published_and_only_to_this_machine() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert {name: [resolved(port) for port in ports] for name, ports in published.items()} == {
        "api": ["127.0.0.1:8787:8787"]
    }
    assert not any(
        {"network_mode", "privileged", "pid", "ipc", "cap_add"} & set(s) for s in SERVICES.values()
    )


def test_another_port_stays_on_this_machine() -> None:
    assert resolved(SERVICES["api"]["ports"][0], NOESIS_PORT="9000") == "127.0.0.1:9000:8787"


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_rights_to_lose(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    user, _, group = resolved(service["user"]).partition(":")
    assert int(user) > 0
    assert int(group) > 0


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_comes_back_and_is_watched(name: str) -> None:
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert "healthcheck" in SERVICES[name] or name == "api", "the API's check stands in the image"
    assert "HEALTHCHECK" in CONTAINERFILE


@pytest.mark.parametrize("name", SERVICES)
def test_logs_and_temporary_files_are_bounded(name: str) -> None:
    assert SERVICES[name]["logging"]["options"]["max-size"]
    assert all("size=" in entry for entry in SERVICES[name]["tmpfs"])


@pytest.mark.parametrize("name", SERVICES)
def test_what_lasts_lies_in_named_volumes(name: str) -> None:
    writable = {source for source, options in mounts(name).values() if options != "ro"}
    assert writable
    assert writable <= set(COMPOSE["volumes"])


@pytest.mark.parametrize("name", OURS)
def test_watched_directories_cannot_be_written_to(name: str) -> None:
    assert mounts(name)["/openclaw"] == ("no-openclaw", "ro")
    watched = next(entry for entry in SERVICES[name]["volumes"] if "/openclaw" in entry)
    assert resolved(watched, OPENCLAW_HOME="/srv/claw") == "/srv/claw:/openclaw:ro"


@pytest.mark.parametrize("name", OURS)
def test_api_and_worker_are_one_image_over_one_data_directory(name: str) -> None:
    service = SERVICES[name]
    assert service["image"] == SERVICES["api"]["image"]
    assert service["command"] == [name]
    assert mounts(name)["/data"] == ("data", "rw")
    assert service["environment"] == SERVICES["api"]["environment"]
    assert service["environment"]["NOESIS_DATA"] == "/data"


@pytest.mark.parametrize("name", SERVICES)
def test_secrets_come_from_files(name: str) -> None:
    """Nothing secret is written into the file, and what is named is the place of a secret that is mounted."""
    service = SERVICES[name]
    environment: dict[str, str] = service.get("environment", {})
    secret = {key: value for key, value in environment.items() if re.search("PASSWORD|TOKEN|KEY", key)}
    assert all(key.endswith("_FILE") for key in secret)
    assert {value.removeprefix("/run/secrets/") for value in secret.values()} == set(
        service.get("secrets", [])
    )


def test_a_secret_is_a_file_outside_the_image() -> None:
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    assert "secrets" not in {
        line.strip("!/ ") for line in (ROOT / ".containerignore").read_text().splitlines()
    }


def test_redis_refuses_rather_than_forgets() -> None:
    command = SERVICES["redis"]["command"]
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert re.search(r"--maxmemory \d+mb", command)


def test_every_environment_name_is_a_setting() -> None:
    from noesis.settings import SETTINGS_NAMES

    names = {key for name in OURS for key in SERVICES[name]["environment"]}
    assert names - set(SETTINGS_NAMES) == set()


def test_images_are_pinned_and_name_their_place() -> None:
    """A short name asks podman a question, and `latest` of a stranger is another program every day."""
    images = {service["image"] for service in SERVICES.values()} | set(
        re.findall(r"^FROM (\S+)", CONTAINERFILE, re.MULTILINE)
    )
    assert all(image.startswith(("docker.io/", "localhost/")) for image in images)
    assert [image for image in images if image.endswith(":latest")] == ["localhost/noesis:latest"]


def test_nothing_is_bound_to_one_processor() -> None:
    """The same two files serve x86-64 and ARM64."""
    for name in ("compose.yaml", "Containerfile"):
        text = re.sub(r"^\s*#.*", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert not re.search(r"amd64|x86.64|arm64|aarch64|platform", text, flags=re.IGNORECASE)


def test_the_image_runs_without_rights_and_installs_only_what_is_locked() -> None:
    assert re.search(r"^USER 10001:10001$", CONTAINERFILE, flags=re.MULTILINE)
    assert re.search(r"^ARG LOCK=requirements.lock$", CONTAINERFILE, flags=re.MULTILINE)
    assert '--require-hashes -r "${LOCK}"' in CONTAINERFILE
    assert not re.search(r"index-url|trusted-host|registry|pip\.conf|npmrc", CONTAINERFILE)


def test_docker_and_podman_leave_out_the_same_files() -> None:
    assert (ROOT / ".dockerignore").readlink() == Path(".containerignore")
    assert (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()[1] == "*"
