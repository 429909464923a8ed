"""The options that every `lens experiment` command shares."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lens_cli.model_options import Device, Dtype, PairCache
from lens_cli.select.options import read_options
from lens_engine.errors import InvalidConfig

if TYPE_CHECKING:
    from experiments.scales import Scale

_STORE = "store"


@dataclass(frozen=True, slots=True)
class Given:
    """Values of the common options, before presets are resolved."""

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
        """Return the preset, changed by `adapt`, then overridden by the given options.

        Raises:
            InvalidConfig: the preset is unknown, or an option is not NAME=VALUE.
        """
        from experiments.scales import SCALES
        from lens_engine.presets import overlay_options

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
        options = overlay_options(scale.options, read_overlay(self.options))
        return scale.model_copy(update={**given, "options": options, "dtype": self.dtype})


def read_given(
    preset: Annotated[
        str, typer.Option(help="Size: laptop, paper, or tiny (only shows that the command works).")
    ] = "laptop",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with NAME.train.jsonl, NAME.test.jsonl, … (or .csv, .parquet); default: Hugging Face hub."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Model: a bundled name, a folder, a .gguf file, or a hub id; default: the preset's."),
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Datasets, e.g. sst-2,trec; default: the preset's.")
    ] = None,
    seeds: Annotated[
        list[str] | None, typer.Option(metavar="NUMBERS", help="Seeds, e.g. 0,1,2; default: the preset's.")
    ] = None,
    templates: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBERS", help="Numbers of templates in each dataset's list, counted from 0."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option that overrides the preset in all cells, e.g. search.iterations=2; repeatable.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for the page, the CSV files and the plot.")] = Path("results"),
    store: Annotated[
        Path | None,
        typer.Option(help="Folder of finished cells; experiments can share one; default: OUTPUT/store."),
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of torch threads (CPU only).")] = None,
    pair_cache: PairCache = True,
) -> Given:
    """Read the common options. Typer takes their names and help texts from this signature.

    Raises:
        InvalidConfig: `seeds` or `templates` contains a word that is not a whole number.
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
    """Return a command for Typer that takes the common options in place of the first parameter of `command`."""
    common = inspect.signature(read_given).parameters
    _, *own = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(**words: Any) -> None:
        from lens_cli.refusals import refusing

        with refusing():
            given = read_given(**{name: words.pop(name) for name in common})
        command(given, **words)

    run.__signature__ = inspect.Signature([*common.values(), *own])  # type: ignore[attr-defined]
    run.__annotations__ = {}  # otherwise Typer reads the annotations of `command`
    return run


def read_variants(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read words of the form `NAME:OPTION=VALUE,OPTION=VALUE` into options by name. NAME may contain colons.

    Raises:
        InvalidConfig: a word has no colon, a name is repeated, or an option is not NAME=VALUE.
    """
    variants: dict[str, dict[str, Any]] = {}
    for word in words:
        name, colon, options = word.rpartition(":")
        if not colon or not name.strip():
            raise InvalidConfig(
                f"{word!r} is not NAME:OPTION=VALUE,…, e.g. 'wide beam:search.beam_width=16'",
                field="variant",
            )
        if name in variants:
            raise InvalidConfig(f"variant {name!r} is given twice", field="variant")
        variants[name] = read_overlay(options.split(","))
    return variants


def read_overlay(options: Sequence[str]) -> dict[str, Any]:
    """Like `read_options`, but ignores spaces around an option.

    Raises:
        InvalidConfig: as `read_options`.
    """
    return read_options([option.strip() for option in options])


def split_words(lists: Sequence[str]) -> tuple[str, ...]:
    """Split the values of a repeatable option at commas. Each word is returned once, in order."""
    words = (word.strip() for text in lists for word in text.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _read_numbers(lists: Sequence[str], field: str) -> tuple[int, ...]:
    words = split_words(lists)
    for word in words:
        if not word.isdecimal():
            raise InvalidConfig(f"{word!r} is not a whole number from 0", field=field)
    return tuple(int(word) for word in words)
