"""The package: every public function can be imported from it, and asking costs nothing until then."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

from wassermix import theory

STUDY = ("study", "curves", "figure")


def test_it_exports_every_public_name_of_its_formulas() -> None:
    modules = [name for _, name, _ in pkgutil.iter_modules(theory.__path__) if not name.startswith(STUDY)]
    names = [
        name for module in modules for name in importlib.import_module(f"{theory.__name__}.{module}").__all__
    ]
    assert sorted(names) == sorted(theory.__all__)
    assert all(callable(getattr(theory, name)) for name in names)


def test_importing_it_imports_neither_torch_nor_scipy_until_a_name_is_used() -> None:
    program = (
        "import sys, wassermix.theory as theory;"
        "assert not {'torch', 'scipy', 'numpy'} & set(sys.modules);"
        "from wassermix.theory import standard_error;"
        "assert 'torch' not in sys.modules;"
        "assert round(float(standard_error([1.0], [1.0], 1.0)), 4) == 0.1587"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
