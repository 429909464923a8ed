from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings import Settings
from lens_engine.model.local.model_files import BUNDLED_MODEL


def make(**values: object) -> Settings:
    return Settings.model_validate(values)


def test_defaults_are_valid() -> None:
    settings = make()
    assert settings.allowed_models == {BUNDLED_MODEL: BUNDLED_MODEL}
    assert (settings.lease_seconds, settings.lease_renew_seconds, settings.max_attempts) == (60, 15, 3)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgres_address_uses_psycopg(scheme: str) -> None:
    assert make(database_url=f"{scheme}://u@h/d").database_url == "postgresql+psycopg://u@h/d"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("database_url", "mysql://u@h/d"),
        ("database_url", "lens"),
        ("redis_url", "http://h"),
        ("queue_name", "a b"),
        ("lease_seconds", 0),
        ("lease_renew_seconds", 31),
        ("stall_seconds", 10),
        ("max_attempts", 0),
        ("job_timeout_seconds", 2**31),
        ("metrics_key_hash", "plain-key"),
        ("allowed_models", {"../etc": "x"}),
        ("allowed_models", {"a/b/c": "x"}),
        ("allowed_models", {"a" * 101: "x"}),
        ("allowed_models", {}),
        ("allowed_models", {"x": "vllm:m@http://h"}),
        ("endpoints", {"x": {"kind": "vllm", "url": "ftp://h", "model": "m"}}),
        ("endpoints", {BUNDLED_MODEL: {"kind": "vllm", "url": "http://h", "model": "m"}}),
        ("endpoints", {"../x": {"kind": "vllm", "url": "http://h", "model": "m"}}),
        ("worker_models", "all"),
        ("default_model", "other"),
        ("device", "tpu"),
        ("ray_address", "head"),
        ("ray_address", "ray://head:10001"),
        ("ray_actors", 0),
        ("dtype", "int8"),
        ("max_text_characters", 200_000),
        ("log_level", "LOUD"),
    ],
)
def test_invalid_value_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        make(**{name: value})


def test_models_behind_servers_are_offered_and_have_a_queue_of_their_own() -> None:
    endpoint = {"kind": "openai-chat", "url": "https://h/v1", "model": "m", "prices": {"input": 0.1, "output": 0.4}}
    settings = make(endpoints={"hosted": endpoint}, queue_name="q")
    assert settings.offered_models[-1] == "hosted"
    assert settings.endpoints["hosted"].name == "openai-chat:m@https://h/v1"
    assert [settings.queue_of(name) for name in ("hosted", "other", None)] == ["q-endpoints", "q", "q"]
    assert settings.queues == ("q", "q-endpoints")
    assert (settings.worker_queue, make(worker_models="endpoints", queue_name="q").worker_queue) == ("q", "q-endpoints")
    assert make(queue_name="q").queues == ("q",)
    alone = make(endpoints={"hosted": endpoint}, allowed_models={}, default_model="hosted", queue_name="q")
    assert (alone.offered_models, alone.queues) == (("hosted",), ("q-endpoints",))


def test_endpoints_are_a_file_or_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "servers.toml"
    path.write_text('[x]\nkind = "vllm"\nurl = "http://h"\nmodel = "m"')
    for value in (str(path), '{"x": {"kind": "vllm", "url": "http://h", "model": "m"}}'):
        monkeypatch.setenv("LENS_ENDPOINTS", value)
        assert Settings(_env_file=None).endpoints["x"].name == "vllm:m@http://h"


def test_repr_hides_secrets() -> None:
    settings = make(database_url="postgresql://u:canary@h/d", redis_url="redis://:canary@h", metrics_key_hash="c" * 64)
    assert "canary" not in repr(settings)
    assert "c" * 64 not in repr(settings)


def test_error_hides_the_refused_value() -> None:
    with pytest.raises(ValidationError) as caught:
        make(database_url="mysql://u:canary@h/d")
    assert "canary" not in str(caught.value)


def test_variable_replaces_the_whole_object_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text('LENS_ALLOWED_MODELS={"a": "x"}\nLENS_DEFAULT_MODEL=b\nLENS_MAX_ROWS=7\n')
    monkeypatch.setenv("LENS_ALLOWED_MODELS", '{"b": "y"}')
    settings = Settings()
    assert (settings.allowed_models, settings.max_rows) == ({"b": "y"}, 7)


def test_file_of_a_folder_allows_no_testing_model_or_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ('LENS_ALLOWED_MODELS={"x": "testing:os:getcwd"}', "LENS_DEFAULT_MODEL=x", "LENS_ALLOW_TESTING_MODELS=true")
    Path(".env").write_text("\n".join((*lines, "LENS_EMBEDDINGS=/x")))
    with pytest.raises(ValidationError, match="requires the variable LENS_ALLOW_TESTING_MODELS"):
        Settings()
    monkeypatch.setenv("LENS_ALLOW_TESTING_MODELS", "true")
    monkeypatch.delenv("LENS_EMBEDDINGS")
    settings = Settings()
    assert (settings.allowed_models, settings.embeddings) == ({"x": "testing:os:getcwd"}, None)
