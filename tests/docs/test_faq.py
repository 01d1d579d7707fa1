"""The FAQ quotes errors as the package raises them, and its formula is that of the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from wassermix.attacks import PGD, SmoothedPGD
from wassermix.certify import Certificates, CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.job import Job
from wassermix.engine.settings import build_config
from wassermix.models.foreign import load_foreign_model
from wassermix.recipes import load_recipe
from wassermix.transport import solve_coupling

FAQ = (Path(__file__).parents[2] / "docs" / "faq.md").read_text(encoding="utf-8")
QUOTED = re.findall(r'^\*\*"(.+?)"\*\*', FAQ, flags=re.DOTALL | re.MULTILINE)


def net(x: Tensor) -> Tensor:
    return torch.stack([x.sum(1), -x.sum(1)], dim=1)


def normalised_inputs(folder: Path) -> None:
    x = torch.tensor([[-2.1, 0.3], [2.6, 0.1]])
    PGD(eps=0.5, norm="l2", steps=1)(net, x, torch.tensor([0, 1]))


def radius_of_everything(folder: Path) -> None:
    PGD(eps=2.0, norm="linf", steps=1)(net, torch.rand(2, 2), torch.tensor([0, 1]))


def foreign_code(folder: Path) -> None:
    build_config(load_recipe("demo"), {"model": "somebody.nets:make"}, trust=False)


def job(folder: Path) -> Job:
    return Job(folder, "out", {"n": 1})


def finished_output(folder: Path) -> None:
    with job(folder).begin():
        job(folder).finish({".json": lambda path: path.write_text("{}")})
    with job(folder).begin():
        pass


def output_in_use(folder: Path) -> None:
    with job(folder).begin(), job(folder).begin():
        pass


def too_few_iterations(folder: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    x0, x1 = (torch.randn(20, 2, generator=generator) for _ in range(2))
    solve_coupling(x0, x1, entropy=0.001, max_iterations=2)


def no_noise(folder: Path) -> None:
    SmoothedPGD(eps=0.5, sigma=0.0)


def pickled_model(folder: Path) -> None:
    torch.save({"weight": torch.zeros(2)}, folder / "net.pt")
    load_foreign_model(str(folder / "net.pt"), shape=(2,), num_classes=2)


CASES: dict[str, Callable[[Path], None]] = {
    "inputs run from": normalised_inputs,
    "so the ball holds every input": radius_of_everything,
    "would import and run that code": foreign_code,
    "exists; go on with": finished_output,
    "is being written by": output_in_use,
    "Sinkhorn did not converge": too_few_iterations,
    "needs noise": no_noise,
    "is a pickle": pickled_model,
}


def test_every_quoted_error_has_its_case() -> None:
    assert len(QUOTED) == len(CASES)
    assert [quote for quote in QUOTED if sum(key in quote for key in CASES) != 1] == []


@pytest.mark.parametrize("quote", QUOTED)
def test_the_package_says_what_the_page_quotes(quote: str, tmp_path: Path) -> None:
    (provoke,) = (case for key, case in CASES.items() if key in quote)
    with pytest.raises((InputError, UserWarning)) as raised:
        provoke(tmp_path)
    wanted = ".*".join(re.escape(part.strip()) for part in " ".join(quote.split()).split("..."))
    assert re.search(wanted, str(raised.value)), str(raised.value)


def test_no_radius_beyond_the_formula_of_the_page_can_be_proved() -> None:
    assert "`sigma * Phi^-1(alpha^(1/n))`" in FAQ
    settings = CertifySettings(sigma=0.5, n=1000, alpha=0.001, bound="plain")
    one = torch.zeros(1, dtype=torch.int64)
    known = Certificates(settings=settings, index=one, predicted=one, radius=torch.zeros(1).double())
    assert known.reach == pytest.approx(0.5 * norm.ppf(0.001 ** (1 / 1000)), rel=1e-6)
