"""The paper's table: python -m lab.experiments.table --preset laptop --data FOLDER

Methods × datasets × templates × seeds, with and without calibration. Writes table.md and table.csv.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lab.experiments.arguments import add_engine_options, read_numbers, read_options, refusing, say, split_words
from lab.experiments.cells import Cells
from lab.experiments.datasets import datasets_of
from lab.experiments.entries import pick_entries
from lab.experiments.report import Measured, render_csv, render_page
from lab.experiments.sizes import SIZES, Size
from lab.rivals.fine_tuning import FineTunedModel
from lens_engine.disk import replace_file
from lens_engine.model.base import LabelScorer
from lens_engine.model.score_cache import DEFAULT_MAX_BYTES
from lens_engine.opening import open_model
from lens_engine.presets import overlay_options

EXIT_INTERRUPTED = 130


def main(words: Sequence[str] | None = None, sizes: Mapping[str, Size] = SIZES) -> None:
    """Compute the missing cells, and write the page and the CSV.

    Raises:
        SystemExit: 2 for a fault of the input, 130 after Ctrl-C; a line on stderr says what to do.
    """
    given = _parse(words, sizes)
    with refusing():
        measured = measure(given, read_size(given, sizes))
        given.output.mkdir(parents=True, exist_ok=True)
        for name, content in (("table.md", render_page(measured)), ("table.csv", render_csv(measured))):
            replace_file(given.output / name, content.encode())
            say(f"wrote {given.output / name}")


def _parse(words: Sequence[str] | None, sizes: Mapping[str, Size]) -> Namespace:
    parser = ArgumentParser(prog="python -m lab.experiments.table", description=__doc__)
    add = parser.add_argument
    add("--preset", default=next(iter(sizes)), choices=sizes, help="size")
    add("--data", type=Path, help="folder with NAME.train.jsonl, NAME.test.jsonl, … (or .csv, .parquet); default: hub")
    add("--model", help="a bundled name, a folder, a .gguf file, or a hub id; default: the preset's")
    add("--datasets", type=split_words, help="names, e.g. sst-2,trec; default: the preset's")
    add("--seeds", type=read_numbers, help="numbers, e.g. 0,1,2; default: the preset's")
    add("--templates", type=read_numbers, help="numbers in a dataset's list of templates, counted from 0")
    add("--methods", type=split_words, default=(), help="rows, e.g. zero_shot,herding,lens; default: all")
    add("--output", type=Path, default=Path("results"), help="folder for the page and the CSV file")
    add("--store", type=Path, help="folder of finished cells; default: OUTPUT/store")
    add("--device", default="auto", help="cpu, cuda, or auto")
    add("--dtype", default="auto", help="float32, bfloat16, float16, or auto")
    add("--no-pair-cache", action="store_true", help="neither read nor keep scores of earlier runs")
    add_engine_options(parser)
    return parser.parse_args(words)


def read_size(given: Namespace, sizes: Mapping[str, Size]) -> Size:
    """The preset, overridden by the options given.

    Raises:
        InvalidConfig: an option is not NAME=VALUE.
    """
    size = sizes[given.preset]
    changes = {name: getattr(given, name) for name in ("model", "datasets", "seeds", "templates")}
    options = overlay_options(size.options, read_options(given.option))
    return replace(size, dtype=given.dtype, options=options, **{name: one for name, one in changes.items() if one})


def measure(given: Namespace, size: Size) -> Measured:
    """Every figure of the table.

    Raises:
        LensError: as `Cells.figure`; finished cells stay in the store.
    """
    store, find_dataset = given.store or given.output / "store", datasets_of(given.data)
    entries, benches = pick_entries(size, given.methods), size.benches(find_dataset)
    for bench in benches:  # refuse wrong options before anything is loaded
        for entry in entries:
            entry.config(size, find_dataset(bench.dataset).settings, bench.seed)
    fine_tune = FineTunedModel(size.model, given.device)
    cells = Cells(store, size, find_dataset, partial(_open, given, size), fine_tune, say)
    say(f"{len(benches) * len(entries)} cells")
    try:
        figures = {(entry.name, bench): cells.figure(entry, bench) for bench in benches for entry in entries}
    except KeyboardInterrupt:
        say(f"Stopped. Finished cells are stored in {store}. Repeat the command to resume.")
        sys.exit(EXIT_INTERRUPTED)
    return Measured(size, entries, benches, figures)


def _open(given: Namespace, size: Size) -> LabelScorer:
    most = None if given.no_pair_cache else DEFAULT_MAX_BYTES
    return open_model(
        size.model, dtype=size.dtype, device=given.device, threads=given.threads, pair_cache_bytes=most
    ).scorer


if __name__ == "__main__":
    main()
