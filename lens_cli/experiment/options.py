"""The options that every `lens experiment` command takes, and what they say."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lens_cli.select.options import read_options
from lens_engine.errors import InvalidConfig

if TYPE_CHECKING:
    from experiments.scales import Scale

_STORE = "store"


@dataclass(frozen=True, slots=True)
class Given:
    """What the common options say, as it was written."""

    preset: str
    data: Path | None
    model: str | None
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    templates: tuple[int, ...]
    options: tuple[str, ...]
    output: Path
    store: Path
    device: str
    dtype: str
    threads: int | None
    remembers: bool

    def scale(self, adapt: "Callable[[Scale], Scale]" = lambda scale: scale) -> "Scale":
        """The preset, as an experiment adapts it to itself, with what was given laid over it.

        Raises:
            InvalidConfig: there is no such preset, or an option is not NAME=VALUE.
        """
        from experiments.scales import SCALES, overlay

        if self.preset not in SCALES:
            raise InvalidConfig(f"{self.preset!r} is not one of {', '.join(SCALES)}", field="preset")
        scale = adapt(SCALES[self.preset])
        changes: dict[str, Any] = {
            "model": self.model,
            "datasets": self.datasets,
            "seeds": self.seeds,
            "templates": self.templates,
        }
        given = {name: value for name, value in changes.items() if value}
        options = overlay(scale.options, read_overlay(self.options))
        return scale.model_copy(update={**given, "options": options, "dtype": self.dtype})


def read_given(
    preset: Annotated[
        str, typer.Option(help="How large: laptop, paper, or tiny, which shows only that it works.")
    ] = "laptop",
    data: Annotated[
        Path | None,
        typer.Option(help="A folder with NAME.train.jsonl, NAME.test.jsonl, … (or .csv, .parquet); else the hub."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A bundled name, a folder, a .gguf file, or a hub id; by default the preset's.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="As in sst-2,trec; by default the preset's.")
    ] = None,
    seeds: Annotated[list[str] | None, typer.Option(metavar="NUMBERS", help="As in 0,1,2.")] = None,
    templates: Annotated[
        list[str] | None, typer.Option(metavar="NUMBERS", help="Places in a dataset's list of templates, from 0.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Laid over the preset for all cells, as in search.iterations=2."),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for page, CSV and plot.")] = Path("results"),
    store: Annotated[
        Path | None,
        typer.Option(help="Folder of finished cells, which all experiments may share.", show_default="OUTPUT/store"),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps, or auto for CUDA where there is one.")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, float16, or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Of torch, on a processor.")] = None,
    pair_cache: Annotated[bool, typer.Option(help="Use scores that were computed before, and keep new ones.")] = True,
) -> Given:
    """
    Raises:
        InvalidConfig: a list of numbers has something else in it.
    """
    return Given(
        preset=preset,
        data=data,
        model=model,
        datasets=split_words(datasets or []),
        seeds=_read_numbers(seeds or [], "seeds"),
        templates=_read_numbers(templates or [], "templates"),
        options=tuple(option or []),
        output=output,
        store=store or output / _STORE,
        device=device,
        dtype=dtype,
        threads=threads,
        remembers=pair_cache,
    )


def taking_given(command: Callable[..., None]) -> Callable[..., None]:
    """A command for Typer: the common options take the place of the `Given` that `command` wants first."""
    common = inspect.signature(read_given).parameters
    _, *own = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(**words: Any) -> None:
        from lens_cli.refusals import refusing

        with refusing():
            given = read_given(**{name: words.pop(name) for name in common})
        command(given, **words)

    run.__signature__ = inspect.Signature([*common.values(), *own])  # type: ignore[attr-defined]
    run.__annotations__ = {}  # Typer would take those of `command` for those of the options
    return run


def read_variants(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`NAME:OPTION=VALUE,OPTION=VALUE` to options by name; a colon may stand in the name.

    Raises:
        InvalidConfig: there is no colon before the options, a name is given twice, or an option is not NAME=VALUE.
    """
    variants: dict[str, dict[str, Any]] = {}
    for word in words:
        name, colon, options = word.rpartition(":")
        if not colon or not name.strip():
            raise InvalidConfig(
                f"{word!r} is not NAME:OPTION=VALUE,…, such as 'lens, random starts:search.random_starts=0.5'",
                field="variant",
            )
        if name in variants:
            raise InvalidConfig(f"there are two variants {name!r}", field="variant")
        variants[name] = read_overlay(options.split(","))
    return variants


def read_overlay(options: Sequence[str]) -> dict[str, Any]:
    """As `read_options`, with spaces around an option left out.

    Raises:
        InvalidConfig: as `read_options`.
    """
    return read_options([option.strip() for option in options])


def split_words(lists: Sequence[str]) -> tuple[str, ...]:
    """Words between commas, from an option that may be repeated; each once."""
    words = (word.strip() for text in lists for word in text.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _read_numbers(lists: Sequence[str], field: str) -> tuple[int, ...]:
    words = split_words(lists)
    for word in words:
        if not word.isdecimal():
            raise InvalidConfig(f"{word!r} is not a whole number from 0", field=field)
    return tuple(int(word) for word in words)
