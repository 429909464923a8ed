"""What the commands of the experiments share: options, the laboratory, refusals and the files of a finding."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.experiments.data.tasks import Datasets
from lab.experiments.findings.finding import Finding
from lab.experiments.findings.writing import write
from lab.experiments.laboratory.laboratory import Laboratory
from lab.experiments.laboratory.models import LoadedModels
from lab.experiments.laboratory.progress import Progress
from lab.experiments.laboratory.store import CellStore
from lab.experiments.scales import SCALES, Scale
from lens_engine.errors import InvalidConfig, LensError
from lens_engine.presets import nest_options, overlay_options

EXIT_FAULTY, EXIT_INTERRUPTED = 2, 130


def make_parser(program: str, description: str) -> ArgumentParser:
    """A parser with the options that every experiment has."""
    parser = ArgumentParser(prog=f"python -m {program}", description=description)
    add = parser.add_argument
    add("--preset", default="laptop", choices=SCALES, help="size; tiny only shows that the command works")
    add("--data", type=Path, help="folder with NAME.train.jsonl, NAME.test.jsonl, … (or .csv, .parquet); default: hub")
    add("--model", help="a bundled name, a folder, a .gguf file, or a hub id; default: the preset's")
    add("--datasets", type=split_words, help="names, e.g. sst-2,trec; default: the preset's")
    add("--seeds", type=read_numbers, help="numbers, e.g. 0,1,2; default: the preset's")
    add("--templates", type=read_numbers, help="numbers in a dataset's list of templates, counted from 0")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="engine option for all cells; repeatable")
    add("--output", type=Path, default=Path("results"), help="folder for the page and the CSV files")
    add("--store", type=Path, help="folder of finished cells; experiments can share one; default: OUTPUT/store")
    add("--device", default="auto", help="cpu, cuda, or auto")
    add("--dtype", default="auto", help="float32, bfloat16, float16, or auto")
    add("--threads", type=int, help="number of torch threads (CPU only)")
    add("--no-pair-cache", action="store_true", help="neither read nor keep scores of earlier runs")
    return parser


def read_scale(given: Namespace, adapt: Callable[[Scale], Scale] = lambda scale: scale) -> Scale:
    """The preset, changed by `adapt`, then overridden by the options given.

    Raises:
        InvalidConfig: an option is not NAME=VALUE.
    """
    scale = adapt(SCALES[given.preset])
    names = ("model", "datasets", "seeds", "templates")
    changes: dict[str, Any] = {name: value for name in names if (value := getattr(given, name))}
    options = overlay_options(scale.options, read_options(given.option))
    return scale.model_copy(update={**changes, "options": options, "dtype": given.dtype})


def run(given: Namespace, experiment: Callable[[Laboratory], Finding], total: int | None = None) -> None:
    """Compute the missing cells and write the files of the finding.

    Args:
        total: number of cells, if it is known.

    Raises:
        SystemExit: 2 for a fault of the input, 130 after Ctrl-C; a line on stderr says what to do.
    """
    store = given.store or given.output / "store"
    progress = Progress(_say, total)
    with refusing():
        models = LoadedModels(given.device, given.threads, not given.no_pair_cache)
        lab = Laboratory(CellStore(store), Datasets(given.data).find, models, progress)
        try:
            finding = experiment(lab)
        except KeyboardInterrupt:
            _say(f"Stopped. {progress.done} cells are stored in {store}. Repeat the command to resume.")
            sys.exit(EXIT_INTERRUPTED)
        for path in write(finding, given.output):
            _say(f"wrote {path}")


@contextmanager
def refusing() -> Iterator[None]:
    """Print an error that the user can mend as one line, and exit with 2."""
    try:
        yield
    except (LensError, OSError) as error:
        _say(f"Error: {error}")
        sys.exit(EXIT_FAULTY)


def read_options(words: Sequence[str]) -> dict[str, Any]:
    """Read words of the form GROUP.NAME=VALUE. A value is JSON, or else a word.

    Raises:
        InvalidConfig: a word has another form.
    """
    options: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name.strip() or not equals:
            raise InvalidConfig(f"{word!r} is not NAME=VALUE, e.g. search.iterations=2", field="options")
        try:
            options[name.strip()] = json.loads(value)
        except ValueError:
            options[name.strip()] = value.strip()
    return nest_options(options)


def split_words(text: str) -> tuple[str, ...]:
    """The words between commas, each once."""
    return tuple(dict.fromkeys(word for part in text.split(",") if (word := part.strip())))


def read_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers from 0 between commas.

    Raises:
        ValueError: a word is no such number.
    """
    if not all(word.isdecimal() for word in split_words(text)):
        raise ValueError(f"{text!r} is not a list of whole numbers from 0")
    return tuple(map(int, split_words(text)))


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
