"""The analyses of `lens experiment`, one command each."""

from typing import Annotated, Any

import typer

from lens_cli.experiment.options import Given, split_words


def order(given: Given) -> None:
    """Support examples and random examples, each set in several random orders.

    Writes order.md, two CSV files and order.svg.
    """
    _perform("order", given)


def transfer(
    given: Given,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="MODELS", help="Other models, as for --model; comma-separated, repeatable."),
    ] = None,
) -> None:
    """Support examples found with one model and judged with others, compared with random examples.

    Example:

        lens experiment transfer --data FOLDER --to ./another-model
    """
    models = split_words(to or [])
    _perform("transfer", given, **({"models": models} if models else {}))


def labels(given: Given) -> None:
    """Support and random examples, each with their gold labels and with random ones."""
    _perform("labels", given)


def hyperparameters(given: Given) -> None:
    """LENS with other values of rho, m, lambda and B, one changed at a time."""
    _perform("hyperparameters", given)


def filtering(given: Given) -> None:
    """Random permutations of the least informative, the most informative and all examples; the support examples."""
    _perform("filtering", given)


def pairs(given: Given) -> None:
    """Pairs of examples that classify well alone: one dataset, one template, one seed."""
    _perform("pairs", given)


def _perform(name: str, given: Given, **sizes: Any) -> None:
    """Run an analysis. The options override its sizes for the preset."""
    from experiments.analyses.catalogue import ANALYSES
    from lens_cli.experiment.session import running

    analysis = ANALYSES[name]
    with running(given) as session:
        session.publish(analysis.perform(session.laboratory, given.scale(analysis.narrow), **sizes))
