"""One contract for every device: each is tried on what this machine has."""

from __future__ import annotations

import pytest

from npukit.devices.name import parse_device
from tests.device.found import found_devices

torch = pytest.importorskip("torch")

from npukit.devices.base import Device, open_device  # noqa: E402


@pytest.fixture(params=["cpu", "cuda:0", "npu:0"])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param not in found_devices():
        pytest.skip(f"no {request.param} on this machine")
    return open_device(parse_device(request.param))


def test_it_is_the_one_that_was_asked_for(device: Device) -> None:
    placed = torch.ones(3).to(device.torch_device)
    assert placed.device.type == device.name.kind
    assert device.info()["device"] == str(device.name)
    assert device.info()["name"]


def test_it_computes(device: Device) -> None:
    left, right = torch.randn(8, 16), torch.randn(16, 4)
    with device.precision("strict"):
        product = (left.to(device.torch_device) @ right.to(device.torch_device)).cpu()
    torch.testing.assert_close(product, left @ right)


def test_memory_counts_what_is_held(device: Device) -> None:
    device.reset_peak()
    before = device.memory()
    held = torch.ones(16 * 2**20, device=device.torch_device)
    device.synchronize()
    after = device.memory()
    assert after.allocated_bytes - before.allocated_bytes >= 0.9 * held.nbytes
    assert after.peak_allocated_bytes >= after.allocated_bytes - 2**20
    assert after.total_bytes is None or after.total_bytes > after.allocated_bytes


def test_the_same_seed_gives_the_same_numbers(device: Device) -> None:
    device.seed(1234)
    first = torch.rand(100, device=device.torch_device).cpu()
    device.seed(1234)
    assert torch.equal(first, torch.rand(100, device=device.torch_device).cpu())


@pytest.mark.parametrize("mode", ["strict", "fast", "default"])
def test_precision_is_restored(device: Device, mode: str) -> None:
    with device.precision("default") as found:
        before = dict(found)
    with pytest.raises(RuntimeError), device.precision(mode) as inside:
        if mode != "default":
            assert set(inside.values()) <= {mode == "fast"}
        raise RuntimeError("a failure inside")
    with device.precision("default") as found:
        assert dict(found) == before


def test_float32_is_always_there(device: Device) -> None:
    assert device.supports(torch.float32)
