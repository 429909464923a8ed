"""Names that the package offers and that are loaded when they are asked for."""

import importlib
import pkgutil

import lens_engine


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Importing such a module would put it in the place of the function."""
    modules = {one.name for one in pkgutil.iter_modules(lens_engine.__path__)}
    assert not modules & set(lens_engine.__all__)
    importlib.import_module("lens_engine.opening")
    assert callable(lens_engine.open_model)
