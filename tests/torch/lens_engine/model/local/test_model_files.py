import hashlib
import json
import pickle
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from lens_engine.disk import make_once
from lens_engine.errors import InvalidConfig, ModelError, UnknownModel, UnreadableModel, UnsafeModel
from lens_engine.model.local.executor_choice import choose_executor
from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.model_files import BUNDLED_MODEL, resolve_model
from lens_engine.opening import check_choice
from tests.tiny_models import tiny_causal_lm

WEIGHTS = "model.safetensors"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and no hub."""
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "cache"


class Planted:
    """Unpickling writes the marker."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def model_folder(folder: Path, *, weights: bytes | None = b"weights") -> Path:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    if weights is not None:
        (folder / "model.safetensors").write_bytes(weights)
    return folder


def test_bundled_model_is_found_inside_its_package() -> None:
    source = resolve_model(BUNDLED_MODEL)

    assert (source.name, source.kind, source.is_gguf) == ("smollm2-135m-instruct", "bundled", True)
    assert source.revision == hashlib.sha256(source.path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("file", "is_of_the_model"),
    [
        ("model.safetensors", True),
        ("model-2.safetensors", True),
        ("config.json", True),
        ("tokenizer.json", True),
        ("README.md", False),
    ],
)
def test_revision_changes_with_weights_config_and_tokenizer(tmp_path: Path, file: str, is_of_the_model: bool) -> None:
    folder, same = model_folder(tmp_path / "model"), model_folder(tmp_path / "same")
    for path in (folder, same):
        (path / "tokenizer.json").write_text("{}")
    first = resolve_model(str(folder)).revision
    assert first == resolve_model(str(same)).revision
    (folder / file).write_text('{"model_type": "other"}')
    assert (resolve_model(str(folder)).revision != first) == is_of_the_model


def test_pickle_weights_are_refused_and_never_opened(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    folder = model_folder(tmp_path / "model", weights=None)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Planted(marker)))

    for refuse in (resolve_model, load_scorer):
        with pytest.raises(UnsafeModel, match=r"only pickle weights \(pytorch_model.bin\)"):
            refuse(str(folder))
    assert not marker.exists()
    pickle.loads((folder / "pytorch_model.bin").read_bytes())
    assert marker.exists(), "the trap works"


def test_command_of_the_refusal_converts_pickle_weights(tmp_path: Path) -> None:
    folder, copy = tiny_causal_lm("llama").save(tmp_path / "model"), tmp_path / "copy"
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UnsafeModel) as refusal:
        resolve_model(str(folder))
    _, command = str(refusal.value).split("write a copy with safetensors: ")
    words = {"python": sys.executable, "FOLDER": str(folder), "COPY": str(copy)}

    subprocess.run([words.get(word, word) for word in shlex.split(command)], check=True, capture_output=True)

    assert load_scorer(str(copy), dtype="float32", device="cpu", executor="plain").identity.device == "cpu"


CUT, INDEX = "model.safetensors is damaged or cut off; download it again", {"a": WEIGHTS, "b": "model-2.safetensors"}
DAMAGES: list[tuple[str, Callable[[Path], object], str]] = [
    (WEIGHTS, lambda file: file.write_bytes(file.read_bytes()[:-10]), CUT),
    (WEIGHTS, lambda file: file.write_bytes(file.read_bytes()[:40]), CUT),
    (
        f"{WEIGHTS}.index.json",
        lambda file: file.write_text(json.dumps({"weight_map": INDEX})),
        "model-2.safetensors is missing; download it again",
    ),
    ("tokenizer.json", Path.unlink, "it has no tokenizer; put the tokenizer.json of the model into the folder"),
]


def test_damaged_folder_is_refused_before_torch_is_imported(tmp_path: Path) -> None:
    folders = [tiny_causal_lm("llama").save(tmp_path / str(number) / "model") for number in range(len(DAMAGES))]
    for folder, (name, damage, _) in zip(folders, DAMAGES, strict=True):
        check_choice(str(folder))
        damage(folder / name)
    code = (
        "import sys\nfrom lens_engine.opening import open_model\n"
        "for folder in sys.argv[1:]:\n"
        "    try:\n        open_model(folder)\n"
        "    except Exception as error:\n        print(type(error).__name__, error, 'torch' in sys.modules, sep=' | ')"
    )

    done = subprocess.run([sys.executable, "-c", code, *map(str, folders)], check=True, capture_output=True, text=True)

    refused = [f"UnreadableModel | model 'model' cannot be loaded: {reason} | False" for *_, reason in DAMAGES]
    assert done.stdout.splitlines() == refused


@pytest.mark.parametrize("choice", [{"dtype": "int8"}, {"device": "gpu"}, {"device": "cuda:"}])
@pytest.mark.parametrize("refuse", [check_choice, load_scorer])
def test_wrong_name_is_refused_before_a_model_is_sought(choice: dict[str, str], refuse: Callable[..., object]) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        refuse("../nothing", **choice)
    assert [refusal.value.field] == list(choice)


def test_other_file_is_no_gguf_file(tmp_path: Path) -> None:
    file = tmp_path / "page.gguf"
    file.write_text("<html>not found</html>")
    with pytest.raises(UnreadableModel, match=r"page\.gguf is no GGUF file; download it again"):
        check_choice(str(file))


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    ("field", "value"),
    [("auto_map", {"AutoModelForCausalLM": "modeling.Model"}), ("_attn_implementation", "someone/kernel")],
)
def test_repository_with_code_of_its_own_is_refused(tmp_path: Path, file: str, field: str, value: object) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / file).write_text(json.dumps({field: value}))
    with pytest.raises(UnsafeModel, match=field):
        resolve_model(str(folder))


@pytest.mark.parametrize(
    "reference",
    ["", "no such model", "x" * 5000, "smollm2\x00", "../nothing", "/nowhere/model", "./absent.gguf", "file://a/b/c"],
)
def test_unknown_reference_is_refused_listing_what_there_is(reference: str) -> None:
    with pytest.raises(UnknownModel, match="smollm2-135m-instruct"):
        resolve_model(reference)


def test_hub_id_that_is_not_cached_is_unknown_offline() -> None:
    with pytest.raises(UnknownModel, match="model 'nobody/nothing' is not in the hub cache"):
        resolve_model("nobody/nothing")


def test_bare_name_never_opens_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_folder(tmp_path / "app")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownModel):
        resolve_model("app")
    assert resolve_model("./app").kind == "folder"


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000])
def test_damaged_config_is_refused(tmp_path: Path, content: str) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "config.json").write_text(content)
    with pytest.raises(UnknownModel, match=r"config\.json of 'model' is not"):
        resolve_model(str(folder))


def test_folder_without_weights_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match="no safetensors"):
        resolve_model(str(model_folder(tmp_path / "model", weights=None)))


def test_damaged_gguf_is_a_model_error_and_not_cached(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "damaged.gguf"
    file.write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(ModelError, match=r"'damaged\.gguf' cannot be loaded"):
        load_scorer(str(file), dtype="float32", device="cpu")
    assert list((cache / "models").iterdir()) == []


def test_cache_that_cannot_be_written_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = tmp_path / "model.gguf", tmp_path / "no folder"
    file.write_bytes(b"GGUF")
    cache.write_text("")
    monkeypatch.setenv("LENS_CACHE_DIR", str(cache))
    with pytest.raises(ModelError, match=r"'model\.gguf' cannot be loaded: .*no folder"):
        load_scorer(str(file), device="cpu")


def test_saved_model_loads_with_its_identity(tmp_path: Path) -> None:
    folder = tiny_causal_lm("qwen3").save(tmp_path / "model")
    identity = load_scorer(str(folder), dtype="bfloat16", device="cpu").identity

    assert identity.model == str(folder)
    assert identity.revision == resolve_model(str(folder)).revision
    assert (identity.dtype, identity.device, identity.executor) == ("bfloat16", "cpu", "packed")


def test_cache_entry_is_made_once(cache: Path) -> None:
    calls: list[Path] = []

    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "weights").write_text("made")

    first, second = make_once("key", make), make_once("key", make)

    assert first == second
    assert (first / "weights").read_text() == "made"
    assert len(calls) == 1
    assert [path.name for path in (cache / "models").iterdir()] == [first.name]


def test_failed_cache_entry_leaves_nothing(cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        make_once("key", fail)
    assert list((cache / "models").iterdir()) == []


def test_cache_entry_made_by_two_at_once_is_kept_from_the_first() -> None:
    def make_first(folder: Path) -> None:
        (folder / "weights").write_text("first")

    def make(folder: Path) -> None:
        make_once("key", make_first)  # as if another process had been quicker
        (folder / "weights").write_text("second")

    assert (make_once("key", make) / "weights").read_text() == "first"


def test_check_is_made_once_and_after_a_change(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_causal_lm("llama").save(tmp_path / "model")
    checked: list[str] = []

    def count(*given: Any) -> Any:
        checked.append("")
        return choose_executor(*given)

    monkeypatch.setattr("lens_engine.model.local.load.choose_executor", count)

    def load(dtype: str = "float32") -> int:
        """Number of checks so far."""
        identity = load_scorer(str(folder), dtype=dtype, device="cpu").identity
        assert (identity.dtype, identity.executor) == (dtype, "packed")
        return len(checked)

    assert [load(), load(), load("bfloat16"), load("bfloat16")] == [1, 1, 2, 2]
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert load() == 3
    for note in (cache / "notes").iterdir():
        note.write_text("torch.int8 fastest")
    assert load() == 4
