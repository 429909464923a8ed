"""What a process of the service does not import, although it is installed."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def leave_pandas_out() -> None:
    """Have each import of pandas fail in this process from now on.

    Where pandas is installed, scikit-learn imports it, and pandas imports pyarrow, to know a DataFrame when it meets
    one. Both take 60 MiB. The reader and the child of a worker have no DataFrames.
    """
    if not any(isinstance(one, _Absent) for one in sys.meta_path):
        sys.meta_path.insert(0, _Absent())


class _Absent(MetaPathFinder, Loader):
    """Finds pandas, and fails to load it. scikit-learn takes that for a machine without pandas."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname == "pandas" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        raise ModuleNotFoundError(f"this process leaves {spec.name} out", name=spec.name)
