"""Tiny random models on the emulated NPU against the CPU: one JSON line for each dtype.

Run by test_emulator.py. Weights are wide, so that no two tokens are nearly as likely as each other.
"""

from __future__ import annotations

import json
import os
import sys

import torch
import torch_npu  # noqa: F401
import transformers

# of the largest logit
ALLOWED = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}


def llama():
    config = transformers.LlamaConfig(
        vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, pad_token_id=0, initializer_range=0.3,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config), 9


def qwen():
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    rope |= {"mrope_section": [2, 1, 1], "mrope_interleaved": True}
    config = transformers.Qwen3_5TextConfig(
        vocab_size=320, hidden_size=96, intermediate_size=224, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=24, linear_value_head_dim=24, max_position_embeddings=512,
        layer_types=["linear_attention"] * 3 + ["full_attention"], rope_parameters=rope,
        initializer_range=0.2, eos_token_id=1,
        pad_token_id=0,
    )  # fmt: skip
    return transformers.Qwen3_5ForCausalLM(config), 12


def deepseek():
    config = transformers.DeepseekV4Config(
        vocab_size=320, hidden_size=64, moe_intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=1, head_dim=32, q_lora_rank=32, num_experts_per_tok=2, n_routed_experts=4,
        n_shared_experts=1, max_position_embeddings=1024,
        layer_types=["sliding_attention", "heavily_compressed_attention", "compressed_sparse_attention",
                     "sliding_attention"],
        compress_rates={"compressed_sparse_attention": 4, "heavily_compressed_attention": 8},
        mlp_layer_types=["hash_moe", "moe", "moe", "moe"], sliding_window=8, o_groups=2, o_lora_rank=16,
        index_n_heads=2, index_head_dim=32, index_topk=4, partial_rotary_factor=0.5, hc_mult=2,
        eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return transformers.DeepseekV4ForCausalLM._from_config(config, attn_implementation="eager"), 24


@torch.no_grad()
def main() -> None:
    transformers.utils.logging.set_verbosity_error()
    torch.npu.conv.allow_hf32 = torch.npu.matmul.allow_hf32 = False
    for dtype, allowed in ALLOWED.items():
        torch.manual_seed(0)
        model, length = globals()[sys.argv[1]]()
        model = model.eval().to(dtype)
        tokens = torch.randint(2, 120, (2, length))
        asked = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        expected, text = model(**asked).logits, model.generate(**asked, max_new_tokens=8, do_sample=False)
        model = model.to("npu:0")
        asked = {name: value.to("npu:0") for name, value in asked.items()}
        got, again = (
            model(**asked).logits.cpu(),
            model.generate(**asked, max_new_tokens=8, do_sample=False).cpu(),
        )
        found = {
            "dtype": str(dtype),
            "difference": ((got - expected).float().abs().max() / expected.float().abs().max()).item(),
            "allowed": allowed,
            "same_text": torch.equal(text, again),
        }
        print(json.dumps(found), flush=True)
    os._exit(0)  # torch_npu's own shutdown is not what is tried here


if __name__ == "__main__":
    main()
