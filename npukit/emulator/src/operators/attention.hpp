// Attention as the card's fused kernels define it, computed in fp32.
#pragma once
#include "abi.hpp"

namespace emulator {

struct AttentionRules {
  double scale = 1;
  double keep = 1;          // 1 - dropout; `kept` holds the bits
  int64_t before = INT32_MAX, after = INT32_MAX;  // how far back and forward a query sees, where the mode says so
  int64_t sparse_mode = 0;  // 0 given mask, 1 given mask in full, 2 causal from the top left, 3 causal to the bottom right, 4 a band to the bottom right
  Tensor bias, mask, kept, sink;  // mask: true drops
};

struct Attended {
  Tensor out, largest, sum, weights;  // (B, N, Sq, Dv), (B, N, Sq, 1), (B, N, Sq, 1), (B, N, Sq, Sk)
};

// q (B, N, Sq, D), k and v (B, Nkv, Sk, D), N a multiple of Nkv. A query that sees nothing gives zeros.
Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionRules& rules);

// Gradients of attend's output for q, k and v, given `grad` (B, N, Sq, Dv).
std::tuple<Tensor, Tensor, Tensor> attend_backward(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionRules& rules);

// Between a layout's tensor ("BNSD", "BSND", "BSH", "SBH") and (B, N, S, D).
Tensor to_bnsd(const Tensor& a, const std::string& layout, int64_t heads);
Tensor from_bnsd(const Tensor& a, const std::string& layout);

}  // namespace emulator
