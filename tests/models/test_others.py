"""Models that other libraries saved, and models that do not fit the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from wassermix.attacks import PGD
from wassermix.certify import certify
from wassermix.core.errors import InputError
from wassermix.core.samples import TensorSamples
from wassermix.models.foreign import load_foreign_model
from wassermix.models.sanity import model_warnings, require_logits

SHAPE, CLASSES = (3, 8, 8), 4


def linear_weights() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    size = int(np.prod(SHAPE))
    return rng.normal(size=(size, CLASSES)).astype(np.float32), rng.normal(size=CLASSES).astype(np.float32)


@pytest.fixture(params=["batch", 2], ids=["any batch", "two at once"])
def onnx_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Flatten and one linear layer, written by hand as ONNX."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import helper, numpy_helper

    weight, bias = linear_weights()
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("Gemm", ["flat", "w", "b"], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", kind, [request.param, *SHAPE])],
        [helper.make_tensor_value_info("y", kind, [request.param, CLASSES])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def test_an_onnx_file_gives_the_answers_of_its_matrix_for_any_batch(onnx_file: Path) -> None:
    net = load_foreign_model(str(onnx_file), shape=SHAPE, num_classes=CLASSES)
    weight, bias = linear_weights()
    for count in (1, 2, 5):
        x = torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(count))
        expected = x.flatten(1) @ torch.from_numpy(weight) + torch.from_numpy(bias)
        torch.testing.assert_close(net(x), expected, atol=1e-4, rtol=1e-4)


def test_an_onnx_file_is_certified_and_refuses_an_attack_by_gradients(onnx_file: Path) -> None:
    net = load_foreign_model(str(onnx_file), shape=SHAPE, num_classes=CLASSES)
    x = torch.rand(2, *SHAPE, generator=torch.Generator().manual_seed(0))
    assert len(certify(net, x, sigma=0.1, n=200, n0=20).radius) == 2
    with pytest.raises(InputError, match="gives no gradients"):
        PGD(eps=0.1, norm="l2")(net, x, torch.zeros(2, dtype=torch.int64))


def test_a_damaged_onnx_file_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.onnx").write_bytes(b"nothing of the sort")
    with pytest.raises(InputError, match="cannot be loaded as ONNX"):
        load_foreign_model(str(tmp_path / "net.onnx"), shape=SHAPE, num_classes=CLASSES)


@pytest.mark.slow
def test_a_folder_that_transformers_saved_gives_its_logits_with_its_own_normalisation(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        image_size=8, patch_size=4, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, num_labels=CLASSES,
    )  # fmt: skip
    saved = transformers.ViTForImageClassification(config).eval()
    saved.save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text('{"image_mean": [0.5], "image_std": [0.25]}')
    net = load_foreign_model(f"transformers:{tmp_path}", shape=SHAPE, num_classes=CLASSES)
    x = torch.rand(3, *SHAPE)
    torch.testing.assert_close(net(x), saved(pixel_values=(x - 0.5) / 0.25).logits, atol=1e-5, rtol=1e-4)
    with pytest.raises(InputError, match="takes images of 8x8"):
        load_foreign_model(f"transformers:{tmp_path}", shape=(3, 32, 32), num_classes=CLASSES)


def test_a_folder_without_a_config_and_a_pickle_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="save_pretrained"):
        load_foreign_model(f"transformers:{tmp_path}", shape=SHAPE, num_classes=CLASSES)
    (tmp_path / "forest.joblib").write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match="no model file"):
        load_foreign_model(str(tmp_path / "forest.joblib"), shape=SHAPE, num_classes=CLASSES)


class Nearest(nn.Module):
    """Right on images of its own scale: the nearest of four class colours."""

    colours = torch.tensor([[0.9, 0.1, 0.1], [0.1, 0.1, 0.9], [0.1, 0.9, 0.1], [0.6, 0.6, 0.6]])

    def __init__(self, see: object = None) -> None:
        super().__init__()
        self.see = see or (lambda x: x)

    def forward(self, x: Tensor) -> Tensor:
        return -torch.cdist(self.see(x).mean(dim=(2, 3)), self.colours)  # type: ignore[operator]


def samples() -> TensorSamples:
    y = torch.arange(200) % 4
    noise = 0.05 * torch.randn(200, *SHAPE, generator=torch.Generator().manual_seed(0))
    return TensorSamples((Nearest.colours[y][:, :, None, None] + noise).clamp(0, 1), y)


def warnings_of(model: nn.Module) -> str:
    return " ".join(model_warnings(model, samples(), mean=(0.4, 0.4, 0.5), std=(0.3, 0.3, 0.3)))


@pytest.mark.parametrize(
    ("see", "words"),
    [
        (lambda x: x / 255, "0 to 255"),
        (lambda x: x.flip(1), "BGR"),
        (lambda x: x * 0.3 + torch.tensor([0.4, 0.4, 0.5])[:, None, None], "lacks normalisation"),
    ],
)
def test_a_model_made_for_other_inputs_is_recognised(see: object, words: str) -> None:
    assert words in warnings_of(Nearest(see))


def test_a_model_that_fits_gets_no_warning() -> None:
    assert warnings_of(Nearest()) == ""


def test_probabilities_instead_of_logits_are_said() -> None:
    assert "probabilities, not logits" in warnings_of(nn.Sequential(Nearest(), nn.Softmax(dim=1)))


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (torch.zeros(3, 1), "one column"),
        (torch.zeros(3), "shape"),
        (torch.full((3, 2), torch.nan), "NaN"),
        ({"logits": torch.zeros(3, 2)}, "dict"),
        ((torch.zeros(3, 2),), "tuple"),
    ],
)
def test_outputs_that_are_no_logits_are_refused(outputs: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        require_logits(outputs, samples=3, name="the model")
