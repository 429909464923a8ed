"""The options that every `lens experiment` command takes."""

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
    """The values of the common options."""

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
        """The scale of the preset, adapted to the experiment by `adapt`, with the given options laid over it.

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
        str, typer.Option(help="Size: laptop, paper, or tiny (it shows only that the command works).")
    ] = "laptop",
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with NAME.train.jsonl, NAME.test.jsonl, … (or .csv, .parquet); default: the hub."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model: bundled name, folder, .gguf file, or hub id; default: the preset's.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Datasets, such as sst-2,trec; default: the preset's.")
    ] = None,
    seeds: Annotated[list[str] | None, typer.Option(metavar="NUMBERS", help="Seeds, such as 0,1,2.")] = None,
    templates: Annotated[
        list[str] | None, typer.Option(metavar="NUMBERS", help="Templates: indices into a dataset's list, from 0.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Option for all cells, such as search.iterations=2; it overrides the preset."
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for page, CSV files and plots.")] = Path("results"),
    store: Annotated[
        Path | None,
        typer.Option(help="Folder of finished cells; all experiments may share it.", show_default="OUTPUT/store"),
    ] = None,
    device: Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1, mps, or auto (CUDA if available).")] = "auto",
    dtype: Annotated[str, typer.Option(help="Number format: float32, bfloat16, float16, or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of torch threads (CPU only).")] = None,
    pair_cache: Annotated[bool, typer.Option(help="Cache of scores on disk: use it, and add new scores.")] = True,
) -> Given:
    """
    Raises:
        InvalidConfig: a seed or template is not a number.
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
    """A command for Typer: the common options replace the first parameter of `command`, a `Given`."""
    common = inspect.signature(read_given).parameters
    _, *own = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(**words: Any) -> None:
        from lens_cli.refusals import refusing

        with refusing():
            given = read_given(**{name: words.pop(name) for name in common})
        command(given, **words)

    run.__signature__ = inspect.Signature([*common.values(), *own])  # type: ignore[attr-defined]
    run.__annotations__ = {}  # else Typer reads those of `command`, which lack the common options
    return run


def read_variants(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`NAME:OPTION=VALUE,OPTION=VALUE` to options by name. A name may contain colons.

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
            raise InvalidConfig(f"there are two variants named {name!r}", field="variant")
        variants[name] = read_overlay(options.split(","))
    return variants


def read_overlay(options: Sequence[str]) -> dict[str, Any]:
    """As `read_options`, but spaces around an option are ignored.

    Raises:
        InvalidConfig: as `read_options`.
    """
    return read_options([option.strip() for option in options])


def split_words(lists: Sequence[str]) -> tuple[str, ...]:
    """The words of comma-separated lists, without repetitions."""
    words = (word.strip() for text in lists for word in text.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _read_numbers(lists: Sequence[str], field: str) -> tuple[int, ...]:
    words = split_words(lists)
    for word in words:
        if not word.isdecimal():
            raise InvalidConfig(f"{word!r} is not a whole number from 0", field=field)
    return tuple(int(word) for word in words)
