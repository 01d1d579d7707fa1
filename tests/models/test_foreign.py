"""Models of others: exported, scripted, made by a factory; and the many ways in which they can be off."""

from __future__ import annotations

import os
import pickle
import warnings
import zipfile

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from wassermix.attacks import PGD, evaluate_attack
from wassermix.core.errors import InputError
from wassermix.models.foreign import BatchLimits, load_foreign_model

SHAPE, CLASSES = (1, 4, 4), 3


def make_net(shape: tuple[int, ...] = SHAPE, num_classes: int = CLASSES) -> nn.Module:
    """A factory as a user might have one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        wide = int(torch.tensor(shape).prod())
        layers = (
            nn.Linear(wide, 8),
            nn.BatchNorm1d(8),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(8, num_classes),
        )
        return nn.Sequential(nn.Flatten(), *layers)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same net as every kind of file."""
    folder, net, x = tmp_path_factory.mktemp("models"), make_net().eval(), torch.rand(4, *SHAPE)
    batch = torch.export.Dim("batch", min=2, max=6)
    any_batch = torch.export.Dim("batch")
    for name, dynamic in (("fixed", None), ("range", ({0: batch},)), ("any", ({0: any_batch},))):
        torch.export.save(torch.export.export(net, (x,), dynamic_shapes=dynamic), folder / f"{name}.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(net), str(folder / "script.pt"))
    save_file(net.state_dict(), folder / "weights.safetensors")
    torch.save(net, folder / "pickle.pt")
    torch.save(net.state_dict(), folder / "state.pt")
    return folder


def load(model, **options):
    return load_foreign_model(str(model), shape=SHAPE, num_classes=CLASSES, **options)


@pytest.mark.parametrize("name", ["fixed.pt2", "range.pt2", "any.pt2", "script.pt"])
@pytest.mark.parametrize("count", [1, 2, 4, 5, 13])
def test_a_file_gives_the_logits_of_the_net_it_was_made_from_for_any_batch(files, name, count):
    x = torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(count))
    torch.testing.assert_close(load(files / name)(x), make_net().eval()(x))


@pytest.mark.parametrize("name", ["fixed.pt2", "range.pt2", "script.pt"])
def test_a_loaded_file_can_be_attacked_and_comes_in_eval_mode(files, name):
    net, x = load(files / name), torch.rand(7, *SHAPE, generator=torch.Generator().manual_seed(0))
    y = make_net().eval()(x).argmax(1)
    attack = PGD(eps=0.2, steps=3)
    torch.testing.assert_close(attack(net, x, y), attack(make_net().eval(), x, y))
    result = evaluate_attack(net, x, y, attack=attack)
    assert result.clean.count == 7
    assert {check.name: check.passed for check in result.checks}["eval mode"]


def test_a_factory_with_weights_gives_the_net_it_was_made_from(files, monkeypatch, tmp_path):
    (tmp_path / "theirs.py").write_text(
        "from torch import nn\n"
        "def factory(num_classes):\n"
        "    first = (nn.Flatten(), nn.Linear(16, 8), nn.BatchNorm1d(8))\n"
        "    return nn.Sequential(*first, nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, num_classes))\n"
    )
    monkeypatch.chdir(tmp_path)
    net = load("theirs:factory", weights=files / "weights.safetensors")
    x = torch.rand(3, *SHAPE)
    torch.testing.assert_close(net(x), make_net().eval()(x))
    assert not net.training


def test_filling_up_a_batch_passes_gradients_and_leaves_no_trace():
    def fixed(x: Tensor) -> Tensor:
        assert len(x) == 4
        return x.square()

    class Fixed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return fixed(x)

    model = BatchLimits(Fixed(), low=4, high=4)
    x = torch.arange(12.0).reshape(6, 2).requires_grad_()
    out = model(x)
    torch.testing.assert_close(out, x.square())
    (gradient,) = torch.autograd.grad(out.sum(), x)
    torch.testing.assert_close(gradient, 2 * x.detach())
    assert model(torch.zeros(0, 2)).shape == (0, 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch would rather export
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # says that the trace wavers, as it should
@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(6, track_running_stats=False)])
def test_a_trace_made_in_training_mode_is_refused(tmp_path, layer):
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 6), layer, nn.Linear(6, CLASSES)).train()
    example = torch.rand(4, *SHAPE)
    net[1] = nn.Linear(example[0].numel(), 6)
    torch.jit.save(torch.jit.trace(net, example, check_trace=False), str(tmp_path / "train.ts"))
    with pytest.raises(InputError, match=r"answers the same sample differently.*model\.eval\(\)"):
        load(tmp_path / "train.ts")


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # torch's own, while it decomposes
@pytest.mark.parametrize("decomposed", [False, True])
def test_an_export_in_training_mode_is_refused(tmp_path, decomposed):
    program = torch.export.export(make_net().train(), (torch.rand(4, *SHAPE),))
    torch.export.save(program.run_decompositions() if decomposed else program, tmp_path / "train.pt2")
    with pytest.raises(InputError, match=r"exported in training mode.*model\.eval\(\)"):
        load(tmp_path / "train.pt2")


@pytest.mark.parametrize("name", ["pickle.pt", "state.pt"])
def test_a_pickle_is_refused_and_told_what_to_do(files, name):
    with pytest.raises(InputError, match=r"pickle or a bare state dict.*torch\.export\.save.*--weights"):
        load(files / name)


class Bomb:
    """Runs code when it is unpickled in full."""

    def __reduce__(self):
        return os.mkdir, (os.environ["BOMB"],)


def test_a_pickle_hidden_in_an_export_does_not_run(files, tmp_path, monkeypatch):
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    with zipfile.ZipFile(files / "any.pt2") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    inputs = [name for name in parts if "sample_inputs" in name]
    assert inputs
    with zipfile.ZipFile(tmp_path / "bomb.pt2", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, pickle.dumps(Bomb()) if name in inputs else content)
    with pytest.raises(InputError, match="cannot be loaded"):
        load(tmp_path / "bomb.pt2")
    assert not (tmp_path / "exploded").exists()
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


def test_what_is_missing_or_no_model_is_said(files, tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "nothing.pt2")
    (tmp_path / "junk.pt").write_text("no model")
    with pytest.raises(InputError, match="damaged or no model"):
        load(tmp_path / "junk.pt")
    (tmp_path / "cut.pt2").write_bytes((files / "any.pt2").read_bytes()[:2000])
    with pytest.raises(InputError, match="damaged or no model"):
        load(tmp_path / "cut.pt2")
    with pytest.raises(InputError, match="unknown"):
        load("resnet9000")
    with pytest.raises(InputError, match="cannot be imported"):
        load("no_such_module:factory")


def test_weights_that_do_not_fit_are_named(files, tmp_path):
    with pytest.raises(InputError, match="goes with package"):
        load(files / "any.pt2", weights=files / "weights.safetensors")
    with pytest.raises(InputError, match="random weights"):
        load_foreign_model("lenet", shape=(1, 28, 28), num_classes=10)
    with pytest.raises(InputError, match="do not exist"):
        load_foreign_model("lenet", weights=tmp_path / "no", shape=(1, 28, 28), num_classes=10)
    with pytest.raises(InputError, match=r"do not fit the model 'lenet': '.*' is missing, .* and \d+ more"):
        load_foreign_model("lenet", weights=files / "weights.safetensors", shape=(1, 28, 28), num_classes=10)
    (tmp_path / "cut.safetensors").write_bytes(b"12")
    with pytest.raises(InputError, match="not a whole safetensors"):
        load_foreign_model("lenet", weights=tmp_path / "cut.safetensors", shape=(1, 28, 28), num_classes=10)
    torch.save({"w": torch.zeros(2)}, tmp_path / "saved.pt")
    with pytest.raises(InputError, match=r"torch\.save wrote it.*save_file"):
        load_foreign_model("lenet", weights=tmp_path / "saved.pt", shape=(1, 28, 28), num_classes=10)


@pytest.mark.parametrize(
    ("shape", "classes", "message"),
    [((1, 5, 5), 3, "fails on the data"), (SHAPE, 4, "knows 3 classes, the data have 4")],
)
def test_a_model_for_other_data_is_refused(files, shape, classes, message):
    with pytest.raises(InputError, match=message):
        load_foreign_model(str(files / "script.pt"), shape=shape, num_classes=classes)
