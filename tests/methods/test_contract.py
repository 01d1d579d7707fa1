"""What every method must do, driven from one table."""

from __future__ import annotations

import inspect
import os

import pytest
import torch
from torch import Tensor, nn

from wassermix.engine.objective import Objective
from wassermix.methods import METHODS, Batch, Method

NAMES = sorted(METHODS.shipped)
NOISY = sorted(set(NAMES) - {"erm", "pgd"})
VECTORS = sorted(set(NAMES) - {"augmix"})
SHAPE, CLASSES = (3, 8, 8), 3
CHEAP = {"steps": 2, "noises": 2}


def make(name: str, **options: object) -> Method:
    """The method with its steps and noises cut down, as far as it has them."""
    wanted = {**CHEAP, **options}
    known = inspect.signature(METHODS.find(name)).parameters
    return METHODS.find(name)(**{key: value for key, value in wanted.items() if key in known})


def image_net(seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        body = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        return nn.Sequential(*body, nn.Linear(4 * 36, CLASSES))


def vector_net(seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, CLASSES))


def batch_of(count: int, *, shape: tuple[int, ...] = SHAPE, seed: int = 0, **fields: object) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(count, *shape, generator=generator)
    y = torch.arange(count) % CLASSES
    return Batch(**{"x": x, "y": y, "generator": generator, **fields})


def total(terms: dict[str, Tensor]) -> Tensor:
    assert all(term.dim() == 0 for term in terms.values())
    return torch.stack(list(terms.values())).sum()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [7, 1])
def test_an_odd_batch_and_a_batch_of_one_give_finite_terms(name: str, count: int) -> None:
    assert torch.isfinite(total(make(name).loss(image_net(), batch_of(count))))


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_train_as_images_do(name: str) -> None:
    assert torch.isfinite(total(make(name).loss(vector_net(), batch_of(5, shape=(5,)))))


@pytest.mark.parametrize("name", NAMES)
def test_a_one_hot_label_means_its_class(name: str) -> None:
    hard, soft = (make(name).loss(image_net(), batch_of(6, y=y)) for y in _both_kinds(6))
    assert {k: v.item() for k, v in hard.items()} == pytest.approx({k: v.item() for k, v in soft.items()})


def _both_kinds(count: int) -> tuple[Tensor, Tensor]:
    y = torch.arange(count) % CLASSES
    return y, torch.eye(CLASSES)[y]


@pytest.mark.parametrize("name", NAMES)
def test_a_mixed_label_gives_a_finite_loss_with_gradients_for_all_parameters(name: str) -> None:
    net = image_net()
    y = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]])
    total(make(name).loss(net, batch_of(3, y=y))).backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_double_precision_stays_double(name: str) -> None:
    batch = batch_of(3)
    loss = total(make(name).loss(image_net().double(), batch_of(3, x=batch.x.double())))
    assert loss.dtype == torch.float64


@pytest.mark.parametrize("name", NAMES)
def test_a_generator_repeats_the_loss(name: str) -> None:
    first, again = (total(make(name).loss(image_net(), batch_of(6))).item() for _ in range(2))
    assert first == again


@pytest.mark.parametrize("name", NOISY)
def test_another_seed_gives_another_loss(name: str) -> None:
    x = batch_of(6).x
    losses = {total(make(name).loss(image_net(), batch_of(6, x=x, seed=seed))).item() for seed in (1, 2)}
    assert len(losses) == 2


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_left_as_it_was_found(name: str) -> None:
    net = image_net().train()
    net[1].eval()  # a frozen batch norm must stay one
    net[0].bias.requires_grad_(False)
    batch = batch_of(5)
    x = batch.x.clone()
    make(name).loss(net, batch)
    assert [m.training for m in net] == [True, False, True, True, True]
    assert [p.requires_grad for p in net.parameters()] == [True, False, True, True, True, True]
    assert all(p.grad is None for p in net.parameters())
    assert torch.equal(batch.x, x)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("name", NAMES)
def test_one_forward_is_trained_and_searches_run_in_eval_mode(name: str) -> None:
    net, seen = image_net(), []
    net.register_forward_pre_hook(lambda m, _: seen.append((m.training, next(m.parameters()).requires_grad)))
    make(name).loss(net, batch_of(5))
    assert seen == [(False, False)] * (len(seen) - 1) + [(True, True)]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"erm", "pgd", "trades", "augmix"}))
def test_sigma_zero_gives_a_finite_loss_and_gradient(name: str) -> None:
    net = image_net()
    total(make(name, sigma=0.0).loss(net, batch_of(5))).backward()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("progress", [0.0, 0.05, 1.0])
def test_every_moment_of_training_gives_a_finite_loss(name: str, progress: float) -> None:
    assert torch.isfinite(total(make(name).loss(image_net(), batch_of(4, progress=progress))))


@pytest.mark.parametrize("name", VECTORS)
def test_the_loss_falls_on_a_separable_problem(name: str) -> None:
    net, method = vector_net(), make(name, sigma=0.1, eps=0.1, step_size=0.1, weight=1.0)
    y = torch.arange(30) % CLASSES
    x = 4 * torch.eye(5)[y] + 0.1 * torch.randn(30, 5, generator=torch.Generator().manual_seed(0))
    _assert_falls(net, method, x, y)


def test_the_loss_of_augmix_falls_on_separable_images() -> None:
    y = torch.arange(12) % CLASSES
    x = torch.zeros(12, *SHAPE)
    x[torch.arange(12), y] = 1.0
    _assert_falls(image_net(), make("augmix"), x, y)


def _assert_falls(net: nn.Module, method: Method, x: Tensor, y: Tensor) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    losses = []
    for step in range(30):
        batch = Batch(x, y, generator=torch.Generator().manual_seed(step))
        loss = total(method.loss(net, batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])


@pytest.mark.parametrize("name", NAMES)
def test_a_method_says_what_it_is(name: str) -> None:
    method = make(name)
    assert isinstance(method, Method)
    assert method.passes >= 1
    assert method.sigma >= 0
    assert METHODS.find(name).reference
    assert METHODS.find(name).__doc__


@pytest.mark.filterwarnings("ignore:precision=bfloat16")  # by the processor of this machine
@pytest.mark.parametrize("name", NAMES)
def test_in_bfloat16_the_loss_stays_near_that_of_float32(name: str) -> None:
    losses = []
    for precision in ("float32", "bfloat16"):
        objective = Objective(image_net(), make(name), num_classes=CLASSES, precision=precision)
        losses.append(total(objective(batch_of(5))))
    assert losses[1].dtype == torch.float32
    torch.testing.assert_close(losses[1], losses[0], atol=0.05, rtol=0.05)


@pytest.fixture
def process_group() -> object:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_distributed_training_gives_the_gradients_of_a_single_process() -> None:
    for name in NAMES:
        alone, shared = image_net(), image_net()
        total(make(name).loss(alone, batch_of(5))).backward()
        objective = Objective(shared, make(name), num_classes=CLASSES)
        wrapped = nn.parallel.DistributedDataParallel(objective)
        total(wrapped(batch_of(5))).backward()
        pairs = zip(alone.parameters(), shared.parameters())
        assert all(torch.allclose(one.grad, other.grad) for one, other in pairs), name
        total(wrapped(batch_of(5))).backward()  # fails if the first step did not reduce every parameter
