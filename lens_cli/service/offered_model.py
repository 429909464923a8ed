"""The one model that `lens up --model` offers to clients."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lens_engine.local.model_files import check_files, resolve_model

_MAX_NAME_CHARACTERS = 100
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model, and the name that clients know it by."""

    name: str  #: what a spec calls the model
    reference: str  #: what the worker loads; the path of a folder or file is absolute

    @classmethod
    def find(cls, reference: str) -> "OfferedModel":
        """Find a bundled model, a folder, a .gguf file or a hub id, and look at its files.

        Raises:
            UnknownModel, UnsafeModel: see `resolve_model`.
            UnreadableModel: see `check_files`.
        """
        source = resolve_model(reference)
        check_files(source)
        if source.kind in ("bundled", "hub"):
            return cls(reference, reference)
        path = Path(reference).expanduser().absolute()
        return cls(_name_of(path), str(path))

    @property
    def environment(self) -> Mapping[str, str]:
        """Settings of an API and a worker that know this model alone."""
        return {"LENS_ALLOWED_MODELS": json.dumps({self.name: self.reference}), "LENS_DEFAULT_MODEL": self.name}


def _name_of(path: Path) -> str:
    """The last part of a path in characters that the settings allow. A folder may be called `Llama-3.2-1B`."""
    last = path.name if path.name not in ("", "..") else path.resolve().name
    plain = _NOT_OF_A_NAME.sub("-", last.removesuffix(".gguf")).strip(".-_")
    return plain[:_MAX_NAME_CHARACTERS] or "model"
