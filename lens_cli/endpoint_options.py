"""Options of a model behind a server, the same for every command that asks a model."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from lens_cli.refusals import RefusedInput
from lens_engine.scoring.base import SERVER
from lens_engine.scoring.spending import TokenPrices
from lens_engine.servers.address import KINDS, Endpoint, EndpointKind, parse_endpoint

if TYPE_CHECKING:  # the commands import this module for their help, and these are slow to import
    from lens_engine.classifier.prompt import ModelRecord
    from lens_engine.open_model import LanguageModel

_PANEL = "A model behind a server"

_USUAL = {"dtype": "auto", "device": "auto", "actors": 1}
"""Values of options of a model on this machine that nobody gave."""


def _option(text: str, metavar: str, **checks: Any) -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel=_PANEL, show_default=False, **checks)


def _price(what: str) -> Any:
    return _option(f"Price of a million {what} (USD).", "USD", min=0.0)


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """The options as they were given. Each field is an option of the command line: `price_input` is --price-input."""

    endpoint: Annotated[
        str | None,
        _option("Address of a server that has the model, e.g. http://127.0.0.1:8000; --model names it there.", "URL"),
    ] = None
    endpoint_kind: Annotated[str | None, _option(f"Kind of the server: {', '.join(KINDS)}.", "KIND")] = None
    endpoint_key_variable: Annotated[
        str | None, _option("Name of the environment variable that holds the key of the server.", "NAME")
    ] = None
    endpoint_requests: Annotated[
        int | None, _option("Largest number of requests at once; default: 32.", "N", min=1)
    ] = None
    endpoint_context: Annotated[
        int | None, _option("Longest prompt (tokens); default: what the server says.", "N", min=1)
    ] = None
    endpoint_answers: Annotated[
        str | None,
        _option("What a chat API answers: probabilities (default), or sampled for a model that gives none.", "NAME"),
    ] = None
    endpoint_extra: Annotated[
        list[str] | None,
        _option("Further field of each request to a chat API, e.g. reasoning_effort=none; repeatable.", "NAME=VALUE"),
    ] = None
    tokenizer: Annotated[
        str | None,
        _option(
            "Tokenizer of the model: a folder with tokenizer.json, or a downloaded hub id; default: ask the server.",
            "NAME",
        ),
    ] = None
    endpoint_weights: Annotated[
        str | None, _option("Weights on this machine to compare the server with, in float32; needs torch.", "NAME")
    ] = None
    price_input: Annotated[float | None, _price("tokens of prompts")] = None
    price_cached: Annotated[float | None, _price("tokens of prompts that the server has in its cache")] = None
    price_output: Annotated[float | None, _price("tokens that the model writes")] = None
    max_cost: Annotated[
        float | None,
        _option(
            "Most that the requests may cost (USD), by these prices. The run ends there with the best so far, and "
            "answers on disk cost nothing.",
            "USD",
            min=0.0,
        ),
    ] = None

    def choose(self, model: str, **local: object) -> "ChosenModel":
        """The model that is asked.

        Args:
            model: name of the model at the server; or a whole reference, KIND:NAME@URL; or a model on this machine.
            local: options that only a model on this machine has, by their parameters, as they were given.

        Raises:
            RefusedInput: options are missing, or contradict each other.
            InvalidConfig: as `Endpoint`.
        """
        found = parse_endpoint(model)
        if found is not None and (self.endpoint or self.endpoint_kind):
            raise RefusedInput(f"{model} names the server already; leave --endpoint out", "where: --endpoint")
        if found is None and self.endpoint is not None:
            if self.endpoint_kind is None:
                raise RefusedInput(f"name the kind of the server: {', '.join(KINDS)}", "where: --endpoint-kind")
            found = Endpoint(cast(EndpointKind, self.endpoint_kind), self.endpoint, model)
        given, senseless = self._list_given(), [name for name in local if local[name] not in (None, _USUAL.get(name))]
        if found is None and given:
            what = f"{given[0]} is for a model behind a server; name the server by --endpoint"
            raise RefusedInput(what, f"where: {given[0]}")
        if found is None:
            return ChosenModel(model)
        if senseless:
            flag = _as_flag(senseless[0])
            raise RefusedInput(f"{flag} is for a model on this machine; the server decides it", f"where: {flag}")
        changes: dict[str, Any] = {
            "key_variable": self.endpoint_key_variable,
            "prices": self._read_prices(),
            "most_requests": self.endpoint_requests,
            "context": self.endpoint_context,
            "answers": self.endpoint_answers,
            "extra": self._read_extra(),
        }
        found = replace(found, **{name: value for name, value in changes.items() if value is not None})
        return ChosenModel(found.name, found, self)

    def choose_again(self, model: str | None, known: "ModelRecord | None", **local: object) -> "ChosenModel | None":
        """The model that a classifier or a prompt is asked with; None for a classifier that asks none.

        Args:
            model: as the user named it; None for the name of the known one.
            known: the model that it was made with.
            local: as in `choose`.

        Raises:
            RefusedInput, InvalidConfig: as `choose`; or the model was behind a server, and none is named.
        """
        if known is None:
            return None
        chosen = self.choose(model or known.model, **local)
        if model is None and chosen.endpoint is None and known.device == SERVER:
            raise RefusedInput(
                f"it was made with {known.model} behind a server; name the server by --endpoint and --endpoint-kind",
                "where: --endpoint",
            )
        return chosen

    def _read_prices(self) -> TokenPrices | None:
        if self.price_input is None or self.price_output is None:
            for name in ("max_cost", "price_input", "price_output", "price_cached"):
                if getattr(self, name) is not None:
                    flag = _as_flag(name)
                    raise RefusedInput(f"{flag} needs --price-input and --price-output", f"where: {flag}")
            return None
        return TokenPrices(self.price_input, self.price_output, self.price_cached)

    def _read_extra(self) -> dict[str, Any] | None:
        from lens_cli.flags import read_value

        pairs = [one.partition("=") for one in self.endpoint_extra or ()]
        if not all(equals and name for name, equals, _ in pairs):
            raise RefusedInput("give a field as NAME=VALUE, e.g. reasoning_effort=none", "where: --endpoint-extra")
        return {name: read_value(value) for name, _, value in pairs} or None

    def _list_given(self) -> list[str]:
        return [_as_flag(field.name) for field in fields(self) if getattr(self, field.name) not in (None, [])]


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model that a command asks."""

    reference: str  #: KIND:NAME@URL for a model behind a server
    endpoint: Endpoint | None = None
    options: EndpointOptions = EndpointOptions()

    def list_arguments(self, *, with_limit: bool = True) -> list[str]:
        """The arguments of another command that asks the same model.

        Args:
            with_limit: whether the command has the same limit on the cost.
        """
        if self.endpoint is None:
            return ["--model", self.reference]
        max_cost = self.options.max_cost if with_limit else None
        named = replace(self.options, endpoint=self.endpoint.url, endpoint_kind=self.endpoint.kind, max_cost=max_cost)
        values = [(_as_flag(field.name), getattr(named, field.name)) for field in fields(named)]
        values.insert(2, ("--model", self.endpoint.model))
        each = [(flag, one) for flag, value in values for one in (value if isinstance(value, list) else [value])]
        return [word for flag, value in each if value is not None for word in (flag, f"{value}")]

    @contextmanager
    def opened(
        self, *, dtype: str = "auto", device: str = "auto", remembers: bool, remembers_answers: bool = True
    ) -> "Iterator[LanguageModel]":
        """Open the model, and close the connection at the end.

        Args:
            remembers: whether a model on this machine has a pair cache.
            remembers_answers: whether the answers of a server, which may cost money, are kept on disk.

        Raises:
            LensError: as `open_model`.
        """
        from lens_engine.open_model import open_model
        from lens_engine.scoring.cache.scorer import DEFAULT_MAX_BYTES
        from lens_engine.servers.scorer import EndpointScorer

        keeps = remembers if self.endpoint is None else remembers_answers
        model = open_model(
            self.endpoint or self.reference,
            dtype=dtype,
            device=device,
            tokenizer=self.options.tokenizer,
            weights=self.options.endpoint_weights,
            pair_cache_bytes=DEFAULT_MAX_BYTES if keeps else None,
        )
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


def takes_endpoint(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them as its parameter `served`."""
    hints = get_type_hints(EndpointOptions, include_extras=True)
    names = [field.name for field in fields(EndpointOptions)]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        options = EndpointOptions(**{name: given.pop(name) for name in names})
        command(**given, served=options)

    own = inspect.signature(command, eval_str=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    kept = [one.replace(kind=kind) for name, one in own.parameters.items() if name != "served"]
    added = [inspect.Parameter(name, kind, default=None, annotation=hints[name]) for name in names]
    run.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*kept, *added)}
    return run


def _as_flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
