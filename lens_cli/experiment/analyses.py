"""The analyses of `lens experiment`: one command each. The main table is in `command.py`."""

from typing import Annotated, Any

import typer

from lens_cli.experiment.options import Given, split_words


def classifier(given: Given) -> None:
    """Whether the classifier is better than every cheap alternative, at each number of prompts; and ablations.

    Writes classifier.md, four CSV files and classifier.svg.
    """
    _perform("classifier", given)


def order(given: Given) -> None:
    """How much the order matters: support and random examples, each set in many random orders.

    Writes order.md, two CSV files and order.svg.
    """
    _perform("order", given)


def transfer(
    given: Given,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="MODELS", help="Other models, in the form of --model, separated by commas; repeatable."),
    ] = None,
) -> None:
    """Whether support examples transfer: found with one model, judged with others, beside random examples.

    Example:

        lens experiment transfer --data FOLDER --to ./another-model
    """
    models = split_words(to or [])
    _perform("transfer", given, **({"models": models} if models else {}))


def labels(given: Given) -> None:
    """How much the labels matter: support and random examples with gold and with random labels."""
    _perform("labels", given)


def hyperparameters(given: Given) -> None:
    """How much the options matter: LENS with other values of rho, m, lambda and B, one at a time."""
    _perform("hyperparameters", given)


def filtering(given: Given) -> None:
    """What filtering adds: random permutations of the least, the most informative and any examples, and LENS."""
    _perform("filtering", given)


def pairs(given: Given) -> None:
    """Whether two examples that are good alone are good together (one dataset, template and seed)."""
    _perform("pairs", given)


def _perform(name: str, given: Given, **sizes: Any) -> None:
    """Run an analysis at its size for the preset; `sizes` and given options override the preset."""
    from experiments.analyses.catalogue import ANALYSES
    from lens_cli.experiment.session import running

    analysis = ANALYSES[name]
    with running(given) as session:
        session.publish(analysis.perform(session.laboratory, given.scale(analysis.narrow), **sizes))
