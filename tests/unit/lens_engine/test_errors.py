import importlib
import pickle
import pkgutil

import pytest

import lens_engine
from lens_engine import errors


def every_error() -> list[type[errors.LensError]]:
    """The engine's own; what is built on it may add to the tree."""
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LensError)]


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [error.code for error in every_error()]

    assert len(codes) > 15
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() and " " not in code for code in codes)


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.code)
def test_error_of_another_process_arrives_as_itself(error: type[errors.LensError]) -> None:
    if issubclass(error, errors.InvalidInput):
        raised: errors.LensError = error("the text", field="dataset.text", row=3)
    elif issubclass(error, errors.NothingSelected):
        raised = error("budget")
    else:
        raised = error("the text")

    arrived = pickle.loads(pickle.dumps(raised))

    assert type(arrived) is error
    assert (str(arrived), vars(arrived)) == (str(raised), vars(raised))


def test_joined_faults_have_the_first_ones_class_and_list_all() -> None:
    rows = tuple(errors.InputProblem("dataset.text", f"row {row} is bad", row) for row in range(2))
    bad_rows = errors.InvalidDataset("2 rows cannot be used", field="dataset.text", row=0, problems=rows)
    no_word = errors.InvalidVerbalizer("no word", field="verbalizer.a")

    joined = errors.join_faults([bad_rows, no_word, errors.InvalidVerbalizer("no word", field="verbalizer.a")])

    assert type(joined) is errors.InvalidDataset
    assert (str(joined), joined.field, joined.row) == ("3 faults; the first: 2 rows cannot be used", "dataset.text", 0)
    assert joined.problems == (*rows, errors.InputProblem("verbalizer.a", "no word"))
    assert errors.join_faults([no_word]) is no_word
    copied = pickle.loads(pickle.dumps(joined))
    assert (str(copied), copied.problems, copied.__notes__) == (str(joined), joined.problems, joined.__notes__)


def test_collected_faults_are_refused_together() -> None:
    faults = errors.Faults()
    faults.refuse()
    for name in ("a", "b"):
        with faults.noting():
            raise errors.InvalidDataset(f"{name} is bad", field=name)

    with pytest.raises(errors.InvalidDataset, match="2 faults; the first: a is bad"):
        faults.refuse()


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Importing such a module would put it in the place of the function."""
    modules = {one.name for one in pkgutil.iter_modules(lens_engine.__path__)}
    assert not modules & set(lens_engine.__all__)
    importlib.import_module("lens_engine.opening")
    assert callable(lens_engine.open_model)
