from collections.abc import Callable

import pytest

from lab.experiments.laboratory.cells import Bench, Demonstration
from lab.experiments.laboratory.laboratory import Laboratory
from lab.experiments.laboratory.progress import Progress
from lab.experiments.laboratory.store import CellDamaged
from lens_engine.config import SelectionConfig
from lens_engine.testing import TableScorer
from tests.lab.experiments.experiment_doubles import Killed, TableModels, is_stored

Make = Callable[..., SelectionConfig]
MakeLaboratory = Callable[..., Laboratory]
ONE = Demonstration(text="reviews 1", label="positive")


def counting(scorer: TableScorer) -> TableModels:
    return TableModels(lambda _: scorer)


def test_finished_cell_needs_no_model(bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory) -> None:
    cell = bench.selection(make_tiny())
    make_laboratory().select(cell)
    models = TableModels()
    make_laboratory(models).select(cell)
    assert models.loaded == []


def test_evaluating_what_was_selected_gives_the_accuracy_of_the_selection(
    bench: Bench, make_tiny: Make, laboratory: Laboratory
) -> None:
    selection = bench.selection(make_tiny())
    result = laboratory.select(selection)
    chosen = tuple(Demonstration(text=one.text, label=one.label) for one in result.examples)
    found = laboratory.evaluate(bench.evaluation(make_tiny(), chosen))
    assert result.test is not None
    assert found.model_dump(exclude={"calibrated_accuracy"}) == result.test.model_dump(
        exclude={"log_loss", "ece", "shares_answered"}
    )


def test_killed_selection_goes_on_from_its_checkpoint(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    cell = bench.selection(make_tiny(search={"iterations": 3}))
    whole = TableScorer()
    expected = make_laboratory(counting(whole)).select(cell)
    laboratory = make_laboratory()
    laboratory.store.path(laboratory.key(cell)).unlink()

    def kill(call: int) -> None:
        if call == whole.num_calls - 2:
            raise Killed

    with pytest.raises(Killed):
        make_laboratory(counting(TableScorer(before_call=kill))).select(cell)
    assert not is_stored(laboratory, cell)
    rest = TableScorer()
    result = make_laboratory(counting(rest)).select(cell)
    assert result.digest == expected.digest
    assert rest.num_calls < whole.num_calls / 2
    assert is_stored(laboratory, cell)


def test_cell_with_a_torn_checkpoint_begins_anew(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    cell = bench.selection(make_tiny())
    checkpoint = laboratory.store.checkpoint(laboratory.key(cell))
    checkpoint.write_bytes(b"torn")
    assert laboratory.select(cell).test is not None
    assert not checkpoint.exists()


def test_cell_with_a_checkpoint_of_another_scorer_begins_anew(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    cell = bench.selection(make_tiny(search={"iterations": 3}))

    def kill(call: int) -> None:
        if call == 4:
            raise Killed

    with pytest.raises(Killed):
        make_laboratory(counting(TableScorer(before_call=kill, name="elsewhere"))).select(cell)
    result = make_laboratory(counting(TableScorer(name="here"))).select(cell)
    assert result.provenance.model == "here"


def test_damaged_outcome_is_named_not_computed_again(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    cell = bench.selection(make_tiny())
    laboratory.select(cell)
    path = laboratory.store.path(laboratory.key(cell))
    path.write_text('{"outcome": {"test": 1}}')
    with pytest.raises(CellDamaged, match=path.name):
        laboratory.select(cell)


def test_progress_is_told_what_was_computed_and_what_was_there(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    lines = list[str]()
    laboratory = make_laboratory(progress=Progress(lines.append))
    cell = bench.selection(make_tiny())
    result = laboratory.select(cell, "ours")
    laboratory.select(cell)
    accuracy = laboratory.evaluate(bench.evaluation(make_tiny(), ()))
    assert result.test is not None
    assert [line.partition("  (")[0] for line in lines] == [
        f"1  reviews seed 3 ours  {result.test.accuracy:.3f}",
        f"3  reviews seed 3 evaluation  {accuracy.accuracy:.3f}",
    ]


def test_models_are_asked_for_by_reference(bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory) -> None:
    models = TableModels()
    laboratory = make_laboratory(models)
    for model in ("one", "two"):
        found = laboratory.select(bench.model_copy(update={"model": model}).selection(make_tiny()))
        assert found.provenance.model == model
    assert models.loaded == ["one", "two"]
