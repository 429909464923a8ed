"""The main table: python -m experiments.table --preset laptop --data FOLDER"""

from collections.abc import Sequence
from typing import Any

from experiments.command import find_datasets, make_parser, read_options, read_scale, refusing, run, split_words
from experiments.table.entries import pick_entries
from experiments.table.plan import TablePlan
from lens_engine.errors import InvalidConfig


def main(words: Sequence[str] | None = None) -> None:
    """Write table.md and table.csv."""
    parser = make_parser("experiments.table", "Methods × datasets × templates × seeds, with and without calibration.")
    parser.add_argument(
        "--methods", type=split_words, default=(), help="rows, e.g. zero_shot,herding,lens; default: all"
    )
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME:OPTION=VALUE,…", help="a row: LENS with other options"
    )
    given = parser.parse_args(words)
    with refusing():
        scale = read_scale(given)
        entries = pick_entries(scale, given.methods, read_variants(given.variant))
        plan = TablePlan(scale, entries, find_datasets(given).find)
        total = len(plan.cells())
    run(given, plan.run, total)


def read_variants(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Options by name, of words of the form NAME:OPTION=VALUE,OPTION=VALUE. NAME may contain colons.

    Raises:
        InvalidConfig: a word has no colon, a name is repeated, or an option is not NAME=VALUE.
    """
    variants: dict[str, dict[str, Any]] = {}
    for word in words:
        name, colon, options = word.rpartition(":")
        if not colon or not name.strip():
            raise InvalidConfig(f"{word!r} is not NAME:OPTION=VALUE,…, e.g. wide:search.beam_width=16", field="variant")
        if name in variants:
            raise InvalidConfig(f"variant {name!r} is given twice", field="variant")
        variants[name] = read_options(options.split(","))
    return variants


if __name__ == "__main__":
    main()
