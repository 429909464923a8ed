"""The model that a command asks: on this machine, or behind a server. Its options, and how it is opened."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lens_cli.refusals import RefusedInput, as_flag
from lens_engine.model.base import SERVER
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.model.servers.address import Endpoint, parse_endpoint, read_endpoints

if TYPE_CHECKING:  # the commands import this module for their help, and these are slow to import
    from lens_engine.classifier.classifier import ModelRecord
    from lens_engine.model.base import LabelScorer
    from lens_engine.opening import LanguageModel

_USUAL = {"dtype": "auto", "device": "auto", "actors": 1}
"""Values of options of a model on this machine that nobody gave."""

model_option = partial(typer.Option, rich_help_panel="The model")
_server_option = partial(typer.Option, rich_help_panel="A model behind a server", show_default=False)

_WHICH = (
    "a bundled name, a folder, a .gguf file, a Hugging Face hub id; or behind a server: a name of --endpoints, or "
    "KIND:NAME@URL (docs/servers.md)"
)
Device = Annotated[str, model_option(help="Device: cpu, cuda, cuda:1, mps, or auto (CUDA if available).")]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The model of a command that begins with none."""

    model: Annotated[str, model_option(help=f"Model: {_WHICH}.")] = BUNDLED_MODEL
    dtype: Annotated[
        str,
        model_option(
            help="Precision: float32, bfloat16, float16, or auto (bfloat16 where the device has units for it, else "
            "float32)."
        ),
    ] = "auto"
    device: Device = "auto"


@dataclass(frozen=True, slots=True)
class SameModelOptions:
    """The model of a command that asks what a selection found."""

    model: Annotated[
        str | None, model_option(help=f"Model: {_WHICH}; default: the one that it was made with.", show_default=False)
    ] = None
    dtype: Annotated[
        str | None,
        model_option(
            help="Precision: float32, bfloat16, float16 or auto; default: as the selection, auto for another model.",
            show_default=False,
        ),
    ] = None
    device: Device = "auto"

    @contextmanager
    def opening(
        self, served: "ServerOptions", known: "ModelRecord | None"
    ) -> "Iterator[tuple[ChosenModel | None, Callable[[str], LabelScorer]]]":
        """The model that is asked, the one of the selection if none is named, and what opens it in a number format."""
        chosen = served.choose_again(self.model, known, dtype=self.dtype, device=self.device)
        with ExitStack() as exits:

            def open_scorer(dtype: str) -> "LabelScorer":
                assert chosen is not None
                # No pair cache: the texts of production would displace the scores of selections.
                return exits.enter_context(chosen.opened(dtype=dtype, device=self.device, remembers=False)).scorer

            yield chosen, open_scorer


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a quick try needs; a file has whatever else describes a server."""

    endpoints: Annotated[
        str | None,
        _server_option(
            metavar="FILE", envvar="LENS_ENDPOINTS", help="File of servers, TOML or JSON, whose names --model takes."
        ),
    ] = None
    endpoint_key_variable: Annotated[
        str | None,
        _server_option(metavar="NAME", help="Name of the environment variable that holds the key of the server."),
    ] = None
    tokenizer: Annotated[
        str | None,
        _server_option(
            metavar="NAME",
            help="Tokenizer of the model: a folder with tokenizer.json, or a downloaded hub id; default: ask the "
            "server.",
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        _server_option(
            metavar="USD",
            min=0.0,
            help="Most that the requests may cost (USD), by the prices in the file. The run ends there with the best "
            "so far, and answers on disk cost nothing.",
        ),
    ] = None

    def choose(self, model: str, **local: object) -> "ChosenModel":
        """The model that is asked.

        Args:
            model: a name of the file of servers; or KIND:NAME@URL; or a model on this machine.
            local: options that only a model on this machine has, by their parameters, as they were given.
        """
        servers = self._read_servers()
        found = servers.get(model) or parse_endpoint(model)
        given = [name for name in ("endpoint_key_variable", "tokenizer", "max_cost") if getattr(self, name) is not None]
        if found is None and (given or (servers and _is_name(model))):
            what = f"{as_flag(given[0])} is for a model behind a server, and " if given else ""
            known = f"{self.endpoints} has {', '.join(servers)}" if servers else "no --endpoints are given"
            raise RefusedInput(f"{what}{model!r} names none: {known}; or write KIND:NAME@URL", "where: --model")
        if found is None:
            return ChosenModel(model)
        if senseless := [name for name in local if local[name] not in (None, _USUAL.get(name))]:
            flag = as_flag(senseless[0])
            raise RefusedInput(f"{flag} is for a model on this machine; the server decides it", f"where: {flag}")
        changes: dict[str, Any] = {"key_variable": self.endpoint_key_variable, "tokenizer": self.tokenizer}
        found = replace(found, **{name: value for name, value in changes.items() if value is not None})
        if self.max_cost is not None and found.prices is None:
            what = "--max-cost needs the prices of the server; write them into a file of servers"
            raise RefusedInput(what, "where: --endpoints")
        return ChosenModel(found.name, found, self, model)

    def choose_again(self, model: str | None, known: "ModelRecord | None", **local: object) -> "ChosenModel | None":
        """The model that a classifier or a prompt is asked with; None for a classifier that asks none.

        Args:
            model: as the user named it; None for the known one, with which it was made.
        """
        if known is None:
            return None
        if model is not None:
            return self.choose(model, **local)
        if known.device != SERVER:
            return replace(self, endpoints=None).choose(known.model, **local)
        names = [name for name, one in self._read_servers().items() if one.model == known.model]
        if len(names) != 1:
            what = f"it was made with {known.model} behind a server"
            raise RefusedInput(f"{what}; name it: a name of --endpoints, or KIND:NAME@URL", "where: --model")
        return self.choose(names[0], **local)

    def _read_servers(self) -> dict[str, Endpoint]:
        return {} if self.endpoints is None else read_endpoints(self.endpoints)


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model that a command asks."""

    reference: str  #: KIND:NAME@URL for a model behind a server
    endpoint: Endpoint | None = None
    options: ServerOptions = ServerOptions()
    named: str = ""  #: what --model says of a server: this reference, or a name of the file

    def list_arguments(self, *, with_limit: bool = True) -> list[str]:
        """The arguments of another command that asks the same model, and that may have the same limit on the cost."""
        if self.endpoint is None:
            return ["--model", self.reference]
        given = self.options
        values = {
            "model": self.named,
            "endpoints": given.endpoints if self.named != self.reference else None,
            "endpoint_key_variable": given.endpoint_key_variable,
            "tokenizer": given.tokenizer,
            "max_cost": given.max_cost if with_limit else None,
        }
        return [word for name, value in values.items() if value is not None for word in (as_flag(name), f"{value}")]

    @contextmanager
    def opened(
        self, *, dtype: str = "auto", device: str = "auto", remembers: bool, remembers_answers: bool = True
    ) -> "Iterator[LanguageModel]":
        """Open the model, and close the connection at the end.

        Args:
            remembers: whether a model on this machine has a pair cache.
            remembers_answers: whether the answers of a server, which may cost money, are kept on disk.
        """
        from lens_engine.model.score_cache import DEFAULT_MAX_BYTES
        from lens_engine.model.servers.scorer import EndpointScorer
        from lens_engine.opening import open_model

        keeps = remembers if self.endpoint is None else remembers_answers
        cache_bytes = DEFAULT_MAX_BYTES if keeps else None
        model = open_model(self.endpoint or self.reference, dtype=dtype, device=device, pair_cache_bytes=cache_bytes)
        if not isinstance(model.scorer, EndpointScorer):
            yield model
            return
        spending = model.scorer.spending
        if self.options.max_cost is not None:
            spending.limit = spending.usd + self.options.max_cost
        try:
            yield model
        finally:
            model.scorer.close()


def describe_opening(reference: str) -> str:
    """What a bar says while a model is opened."""
    endpoint = parse_endpoint(reference)
    return f"Loading {reference}" if endpoint is None else f"Connecting to {endpoint.url}"


def _is_name(model: str) -> bool:
    """Whether a model could be a misspelt name of the file rather than a folder, a file or a hub id."""
    is_path = "/" in model or model.startswith((".", "~")) or model.endswith(".gguf")
    return model != BUNDLED_MODEL and not is_path
