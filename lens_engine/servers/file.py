"""A file of models behind servers: the same for the command (`--endpoints`) and the service (`LENS_ENDPOINTS`)."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lens_engine.errors import InvalidConfig
from lens_engine.servers.address import Endpoint

_ENDPOINTS = TypeAdapter(dict[str, Endpoint])


def read_endpoints(source: str | Mapping[str, Any]) -> dict[str, Endpoint]:
    """Read models behind servers, each by the name under which `--model` and clients ask for it.

    Args:
        source: path of a TOML file (with that suffix) or of a JSON file; or the content of the latter, as text or as an
            object. Each entry has the fields of `Endpoint`.

    Raises:
        InvalidConfig: the file cannot be read, or entries are wrong; the message names file, server and field, and
            repeats nothing that may be a key.
    """
    is_path = isinstance(source, str) and not source.lstrip().startswith("{")
    where = f"{source}: " if is_path else ""
    try:
        found = source if isinstance(source, Mapping) else _parse(source, is_path=is_path)
        return _ENDPOINTS.validate_python(found)
    except ValidationError as error:
        raise InvalidConfig(where + "; ".join(map(_describe, error.errors())), field="endpoints") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not {_format_of(source)}: {error}"
        raise InvalidConfig(f"{where}{why}", field="endpoints") from error


def _format_of(source: object) -> str:
    return "TOML" if str(source).endswith(".toml") else "JSON"


def _parse(source: str, *, is_path: bool) -> Any:
    text = Path(source).expanduser().read_text("utf-8-sig") if is_path else source
    return tomllib.loads(text) if is_path and _format_of(source) == "TOML" else json.loads(text)


def _describe(fault: Any) -> str:
    if not fault["loc"]:
        return "must be an object of names and servers"
    server, *fields = fault["loc"]
    error, said = fault.get("ctx", {}).get("error"), fault["msg"]
    if isinstance(error, InvalidConfig):
        fields, said = [error.field], str(error)
    return ": ".join([f"server {server!r}", *([".".join(map(str, fields))] if fields else []), said])
