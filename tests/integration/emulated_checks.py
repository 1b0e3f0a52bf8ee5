"""Checks that run inside an emulated process, for test_emulator.py; one JSON line: name to "" or the failure.

``python emulated_checks.py [NAME ...]``
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import traceback

import torch
import torch_npu

NPU = "npu:0"


def close(got, expected, **limits):
    torch.testing.assert_close(got.cpu(), expected, **limits)


def check_it_is_the_emulated_card():
    assert torch.npu.get_device_name(0) == "Ascend910B3"
    assert torch.npu.device_count() == 2
    torch.ones(1, device=NPU)
    free, total = torch.npu.mem_get_info(0)
    assert total == 64 * 2**30 and 0 < free <= total


def check_memory_is_counted_on_its_device():
    placed = [torch.ones(1, device=f"npu:{device}") for device in (0, 1)]
    before = [torch.npu.mem_get_info(device)[0] for device in range(len(placed))]
    held = torch.empty(256 * 2**20, dtype=torch.uint8, device="npu:1")
    after = [torch.npu.mem_get_info(device)[0] for device in (0, 1)]
    assert after[0] == before[0] and before[1] - after[1] >= held.nbytes


def check_two_devices_copy_and_compute():
    a = torch.randn(3, 5)
    there = a.to("npu:1")
    close(there.to(NPU) + 1, a + 1)
    close(there.t() @ there, a.t() @ a)


def check_a_thread_of_its_own_computes():
    told = []

    def work():
        torch.npu.set_device(NPU)
        told.append((torch.ones(2, device=NPU) + 1).cpu())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    close(told[0], torch.full((2,), 2.0))


def check_a_new_thread_has_no_context():
    runtime, told = ctypes.CDLL("libascendcl.so"), []

    def work():
        told.append(runtime.aclrtSynchronizeDevice())
        runtime.aclrtSetDevice(0)
        told.append(runtime.aclrtSynchronizeDevice())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert told == [107002, 0], told


def check_hf32_cuts_the_mantissa():
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    torch.npu.matmul.allow_hf32 = False
    exact = (a.to(NPU) @ b.to(NPU)).cpu()
    torch.npu.matmul.allow_hf32 = True
    cut = (a.to(NPU) @ b.to(NPU)).cpu()
    torch.npu.matmul.allow_hf32 = False
    error = (cut - a @ b).abs().max().item()
    close(exact, a @ b)
    assert 1e-4 < error < 5e-2, error


def check_a_graph_replays():
    x, out = torch.ones(4, device=NPU), torch.zeros(4, device=NPU)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out.copy_(x * 3 + 1)
    x.fill_(2)
    graph.replay()
    torch.npu.synchronize()
    close(out, torch.full((4,), 7.0))


def check_events_measure_time():
    begun, ended = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begun.record()
    torch.ones(8, device=NPU).sum()
    ended.record()
    ended.synchronize()
    assert begun.elapsed_time(ended) >= 0


def check_strides_and_empty_tensors():
    a = torch.randn(4, 6, 5)
    close(a.to(NPU).transpose(0, 2)[::2, 1:].sum(1), a.transpose(0, 2)[::2, 1:].sum(1))
    close(torch.empty(0, 3, device=NPU) + 1, torch.empty(0, 3) + 1)


def check_gelu_is_the_tanh_form():
    # what CANN documents for aclnnGelu, whichever form torch is asked for
    a = torch.randn(1000)
    close(torch.nn.functional.gelu(a.to(NPU)), torch.nn.functional.gelu(a, approximate="tanh"))


def _rms(x, weight, eps):
    x = x.float()
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight.float()


def _half(dtype):
    limit = 1e-5 if dtype == torch.float32 else 2e-2
    return {"rtol": limit, "atol": limit}


def check_fused_norms():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, y, weight = (
            torch.randn(2, 3, 16).to(dtype),
            torch.randn(2, 3, 16).to(dtype),
            torch.randn(16).to(dtype),
        )
        got, _ = torch_npu.npu_rms_norm(x.to(NPU), weight.to(NPU), 1e-5)
        close(got, _rms(x, weight, 1e-5).to(dtype), **_half(dtype))
        got, _ = torch_npu.npu_gemma_rms_norm(x.to(NPU), weight.to(NPU), 1e-5)
        close(got, _rms(x, weight.float() + 1, 1e-5).to(dtype), **_half(dtype))
        got, _, total = torch_npu.npu_add_rms_norm(x.to(NPU), y.to(NPU), weight.to(NPU), 1e-5)
        close(total, x + y, **_half(dtype))
        close(got, _rms(x.float() + y.float(), weight, 1e-5).to(dtype), **_half(dtype))


def check_fused_rotary():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, cos, sin = (
            torch.randn(2, 5, 4, 64).to(dtype),
            torch.randn(1, 5, 1, 64).to(dtype),
            torch.randn(1, 5, 1, 64).to(dtype),
        )
        a, b = x.float().chunk(2, -1)
        expected = (x.float() * cos.float() + torch.cat((-b, a), -1) * sin.float()).to(dtype)
        close(torch_npu.npu_rotary_mul(x.to(NPU), cos.to(NPU), sin.to(NPU)), expected, **_half(dtype))
        pairs = torch.stack((-x.float()[..., 1::2], x.float()[..., ::2]), -1).flatten(-2)
        expected = (x.float() * cos.float() + pairs * sin.float()).to(dtype)
        close(
            torch_npu.npu_rotary_mul(x.to(NPU), cos.to(NPU), sin.to(NPU), "interleave"),
            expected,
            **_half(dtype),
        )
        q, k = x.clone().to(NPU), x[:, :, :2].clone().to(NPU)
        wide = cos.expand(2, -1, -1, -1).contiguous(), sin.expand(2, -1, -1, -1).contiguous()
        torch_npu.npu_apply_rotary_pos_emb(q, k, wide[0].to(NPU), wide[1].to(NPU))
        close(q, (x.float() * cos.float() + torch.cat((-b, a), -1) * sin.float()).to(dtype), **_half(dtype))


def check_mrope():
    tokens, heads, head, rotary, sections = 6, 2, 64, 32, [8, 4, 4]
    positions = torch.randint(0, 10, (3, tokens))
    q, k, cache = torch.randn(tokens, heads * head), torch.randn(tokens, head), torch.randn(10, rotary)
    cos, sin = cache[positions].chunk(2, -1)
    which = torch.tensor([0] * 8 + [1] * 4 + [2] * 4)
    pick = lambda part: torch.stack([part[which[i], :, i] for i in range(rotary // 2)], -1)  # noqa: E731
    cos, sin = (pick(part).repeat(1, 2).unsqueeze(1) for part in (cos, sin))

    def rotated(x):
        x = x.view(tokens, -1, head)
        a, b = x[..., :rotary].chunk(2, -1)
        return torch.cat((x[..., :rotary] * cos + torch.cat((-b, a), -1) * sin, x[..., rotary:]), -1).flatten(
            1
        )

    got = torch_npu.npu_mrope(
        positions.to(NPU),
        q.to(NPU),
        k.to(NPU),
        cache.to(NPU),
        head,
        mrope_section=sections,
        rotary_mode="half",
    )
    close(got[0], rotated(q))
    close(got[1], rotated(k))


def check_fused_swiglu():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(3, 32).to(dtype)
        gate, up = x.float().chunk(2, -1)
        close(
            torch_npu.npu_swiglu(x.to(NPU)), (torch.nn.functional.silu(gate) * up).to(dtype), **_half(dtype)
        )


def check_fused_attention():
    sdpa = torch.nn.functional.scaled_dot_product_attention
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        q, k, v = (torch.randn(2, n, 7, 16).to(dtype) for n in (4, 2, 2))
        causal = torch.ones(7, 7, dtype=torch.bool).triu(1)
        expected = sdpa(q.float(), k.float(), v.float(), is_causal=True, enable_gqa=True).to(dtype)
        for layout, there in (("BNSD", lambda t: t), ("BSND", lambda t: t.transpose(1, 2).contiguous())):
            given = [there(t).to(NPU) for t in (q, k, v)]
            got = torch_npu.npu_fusion_attention(*given, 4, layout, scale=0.25, atten_mask=causal.to(NPU))[0]
            close(there(got.cpu()), expected, **_half(dtype))
            got, _ = torch_npu.npu_fused_infer_attention_score(
                *given,
                num_heads=4,
                num_key_value_heads=2,
                input_layout=layout,
                scale=0.25,
                atten_mask=causal.to(NPU),
            )
            close(there(got.cpu()), expected, **_half(dtype))


def check_attention_learns():
    q, k, v = (torch.randn(1, n, 6, 8, requires_grad=True) for n in (4, 2, 2))
    there = [t.detach().to(NPU).requires_grad_() for t in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    sdpa(q, k, v, is_causal=True, enable_gqa=True).square().sum().backward()
    torch_npu.npu_fusion_attention(
        *there, 4, "BNSD", scale=8**-0.5, atten_mask=torch.ones(6, 6, dtype=torch.bool).triu(1).to(NPU)
    )[0].square().sum().backward()
    for ours, theirs in zip((q, k, v), there, strict=True):
        close(theirs.grad, ours.grad, rtol=1e-4, atol=1e-5)


def _delta_rule(q, k, v, g, beta, scale, state):
    outputs = []
    for t in range(q.size(0)):
        state = state * g[t].exp()[:, None, None]
        memory = torch.einsum("nvk,nk->nv", state, k[t])
        state = state + torch.einsum("nv,nk->nvk", (v[t] - memory) * beta[t][:, None], k[t])
        outputs.append(torch.einsum("nvk,nk->nv", state, q[t] * scale))
    return torch.stack(outputs), state


def check_gated_delta_rule():
    tokens, nk, nv, d = 5, 2, 4, 128
    unit = lambda t: torch.nn.functional.normalize(t, dim=-1).bfloat16()  # noqa: E731
    q, k, v = (
        unit(torch.randn(tokens, nk, d)),
        unit(torch.randn(tokens, nk, d)),
        torch.randn(tokens, nv, d).bfloat16(),
    )
    g, beta = -torch.rand(tokens, nv), torch.rand(tokens, nv).bfloat16()
    state = torch.randn(1, nv, d, d).bfloat16()
    wide = lambda t: t.float().repeat_interleave(nv // nk, 1)  # noqa: E731
    expected, final = _delta_rule(wide(q), wide(k), v.float(), g, beta.float(), d**-0.5, state[0].float())
    lengths = torch.tensor([tokens], dtype=torch.int32).to(NPU)
    got, last = torch_npu.npu_chunk_gated_delta_rule(
        q.to(NPU), k.to(NPU), v.to(NPU), beta=beta.to(NPU), initial_state=state.to(NPU),
        actual_seq_lengths=lengths, scale=d**-0.5, g=g.to(NPU),
    )  # fmt: skip
    close(got.float(), expected, rtol=2e-2, atol=2e-2)
    close(last[0].float(), final, rtol=2e-2, atol=2e-2)
    blocks = torch.cat([state, torch.zeros(tokens - 1, nv, d, d).bfloat16()]).to(NPU)
    got = torch_npu.npu_recurrent_gated_delta_rule(
        q.to(NPU), k.to(NPU), v.to(NPU), blocks, beta=beta.to(NPU), scale=d**-0.5, actual_seq_lengths=lengths,
        ssm_state_indices=torch.arange(tokens, dtype=torch.int32).to(NPU), g=g.to(NPU),
    )  # fmt: skip
    close(got.float(), expected, rtol=2e-2, atol=2e-2)
    close(blocks[-1].float(), final, rtol=2e-2, atol=2e-2)


def check_hyper_connections():
    t, n, d = 3, 4, 8
    x, phi, bias = (
        torch.randn(t, n, d).bfloat16(),
        torch.randn(n * n + 2 * n, n * d),
        torch.randn(n * n + 2 * n),
    )
    alpha = torch.tensor([0.5, 0.6, 0.7])
    wide = x.float().flatten(1)
    mixed = (wide @ phi.t()) * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    pre = torch.sigmoid(mixed[:, :n] * alpha[0] + bias[:n]) + 1e-6
    got = torch_npu.npu_mhc_pre(x.to(NPU), phi.to(NPU), alpha.to(NPU), bias.to(NPU), out_flag=1)
    close(got[0], (pre[..., None] * x.float()).sum(1).bfloat16(), rtol=2e-2, atol=2e-2)
    close(got[1], 2 * torch.sigmoid(mixed[:, n : 2 * n] * alpha[1] + bias[n : 2 * n]), rtol=1e-4, atol=1e-4)
    close(got[2].flatten(1), mixed[:, 2 * n :] * alpha[2] + bias[2 * n :], rtol=1e-4, atol=1e-4)


def main() -> None:
    torch.manual_seed(0)
    checks = {name: value for name, value in globals().items() if name.startswith("check_")}
    told = {}
    for name in sys.argv[1:] or checks:
        try:
            checks[name]()
            told[name] = ""
        except Exception:  # noqa: BLE001 (told to the test)
            told[name] = traceback.format_exc(limit=-3)
    print(json.dumps(told), flush=True)
    os._exit(0)  # torch_npu's own shutdown is not what is tried here


if __name__ == "__main__":
    main()
