"""An analysis: python -m experiments.analyses order --preset laptop --data FOLDER"""

from collections.abc import Sequence

from experiments.analyses.catalogue import ANALYSES
from experiments.command import make_parser, read_scale, refusing, run, split_words
from lens_engine.errors import InvalidConfig


def main(words: Sequence[str] | None = None) -> None:
    """Write NAME.md and CSV files."""
    questions = "; ".join(f"{name}: {analysis.question}" for name, analysis in ANALYSES.items())
    parser = make_parser("experiments.analyses", questions)
    parser.add_argument("name", choices=ANALYSES)
    parser.add_argument("--to", type=split_words, metavar="MODELS", help="transfer only: models to judge with")
    given = parser.parse_args(words)
    analysis = ANALYSES[given.name]
    with refusing():
        scale = read_scale(given, analysis.narrow)
        if given.to and given.name != "transfer":
            raise InvalidConfig("--to is of the analysis transfer only", field="to")
    run(given, lambda lab: analysis.perform(lab, scale, **({"models": given.to} if given.to else {})))


if __name__ == "__main__":
    main()
