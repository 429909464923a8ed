"""The main table: python -m lab.experiments.table --preset laptop --data FOLDER"""

from collections.abc import Sequence

from lab.experiments.command import make_parser, read_scale, refusing, run, split_words
from lab.experiments.data.tasks import Datasets
from lab.experiments.table.entries import pick_entries
from lab.experiments.table.plan import TablePlan


def main(words: Sequence[str] | None = None) -> None:
    """Write table.md and table.csv."""
    parser = make_parser(
        "lab.experiments.table", "Methods × datasets × templates × seeds, with and without calibration."
    )
    methods = "rows, e.g. zero_shot,herding,lens; default: all"
    parser.add_argument("--methods", type=split_words, default=(), help=methods)
    given = parser.parse_args(words)
    with refusing():
        scale = read_scale(given)
        entries = pick_entries(scale, given.methods)
        plan = TablePlan(scale, entries, Datasets(given.data).find)
        total = len(plan.cells())
    run(given, plan.run, total)


if __name__ == "__main__":
    main()
