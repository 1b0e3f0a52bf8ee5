// aclnnFlashAttentionScore and its kin: what torch_npu calls for scaled_dot_product_attention and npu_fusion_attention.
#include "attention.hpp"

using namespace emulator;

namespace {

// How many heads the keys have: the layout's own dimension, or what is left of H when a head has as many numbers as a query's.
int64_t kv_heads(const Tensor& q, const Tensor& k, int64_t heads, const std::string& layout) {
  if (layout == "BNSD") return k.size(1);
  if (layout == "BSND") return k.size(2);
  return k.size(2) / (q.size(2) / heads);
}

Tensor bits(const Tensor& packed, at::IntArrayRef shape) {
  if (!packed.defined() || !packed.numel()) return {};
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  auto flat = at::bitwise_and(at::bitwise_right_shift(packed.view(at::kByte).reshape({-1, 1}), at::arange(8, at::kByte)), 1).reshape(-1);
  return flat.narrow(0, 0, count).reshape(shape).to(at::kFloat);
}

// The statistics are kept eight times over, (B, N, S, 8), or (T, N, 8) for packed sequences.
void put_statistic(const Tensor& out, const Tensor& value) {
  if (!out.defined() || !out.numel()) return;
  auto eight = value.expand({-1, -1, -1, 8});
  put(out, out.dim() == 3 ? eight.transpose(1, 2).flatten(0, 1) : eight);
}

struct Problem {
  Tensor q, k, v;
  AttentionRules rules;
  int64_t heads;
  std::string layout;
};

void forward(const Problem& p, const Tensor& drop, const Tensor& largest, const Tensor& sum, const Tensor& out) {
  int64_t n = kv_heads(p.q, p.k, p.heads, p.layout);
  auto q = to_bnsd(p.q, p.layout, p.heads), k = to_bnsd(p.k, p.layout, n), v = to_bnsd(p.v, p.layout, n);
  auto rules = p.rules;
  if (rules.keep < 1) rules.kept = bits(drop, {q.size(0), q.size(1), q.size(2), k.size(2)});
  auto result = attend(q, k, v, rules);
  put(out, from_bnsd(result.out, p.layout).to(out.scalar_type()));
  put_statistic(largest, result.largest);
  put_statistic(sum, result.sum);
}

void backward(const Problem& p, const Tensor& grad, const Tensor& drop, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  int64_t n = kv_heads(p.q, p.k, p.heads, p.layout);
  auto q = to_bnsd(p.q, p.layout, p.heads), k = to_bnsd(p.k, p.layout, n), v = to_bnsd(p.v, p.layout, n);
  auto rules = p.rules;
  if (rules.keep < 1) rules.kept = bits(drop, {q.size(0), q.size(1), q.size(2), k.size(2)});
  auto [gq, gk, gv] = attend_backward(to_bnsd(grad, p.layout, p.heads), q, k, v, rules);
  put(dq, from_bnsd(gq, p.layout).to(dq.scalar_type()));
  put(dk, from_bnsd(gk, p.layout).to(dk.scalar_type()));
  put(dv, from_bnsd(gv, p.layout).to(dv.scalar_type()));
}

// Packed sequences (TND): each runs by itself; `ends` are where they end.
template <class One>
void each_sequence(const Ints& q_ends, const Ints& k_ends, One one) {
  int64_t q_from = 0, k_from = 0;
  for (size_t i = 0; i < q_ends.size(); ++i) {
    one(q_from, q_ends[i] - q_from, k_from, k_ends[i] - k_from);
    q_from = q_ends[i];
    k_from = k_ends[i];
  }
}
Tensor sequence(const Tensor& a, int64_t from, int64_t length) { return a.defined() ? a.narrow(0, from, length).transpose(0, 1).unsqueeze(0) : a; }

void forward_packed(const Problem& p, const Ints& q_ends, const Ints& k_ends, const Tensor& largest, const Tensor& sum, const Tensor& out) {
  TORCH_CHECK(p.rules.keep == 1, "dropout over packed sequences is not emulated");
  each_sequence(q_ends, k_ends, [&](int64_t q_from, int64_t q_length, int64_t k_from, int64_t k_length) {
    auto rules = p.rules;
    if (rules.mask.defined() && rules.sparse_mode < 2) rules.mask = rules.mask.narrow(-2, 0, q_length).narrow(-1, 0, k_length);
    auto result = attend(sequence(p.q, q_from, q_length), sequence(p.k, k_from, k_length), sequence(p.v, k_from, k_length), rules);
    put(out.narrow(0, q_from, q_length), result.out[0].transpose(0, 1).to(out.scalar_type()));
    if (largest.defined() && largest.numel()) put_statistic(largest.narrow(0, q_from, q_length), result.largest);
    if (sum.defined() && sum.numel()) put_statistic(sum.narrow(0, q_from, q_length), result.sum);
  });
}
void backward_packed(const Problem& p, const Tensor& grad, const Ints& q_ends, const Ints& k_ends, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  TORCH_CHECK(p.rules.keep == 1, "dropout over packed sequences is not emulated");
  each_sequence(q_ends, k_ends, [&](int64_t q_from, int64_t q_length, int64_t k_from, int64_t k_length) {
    auto rules = p.rules;
    if (rules.mask.defined() && rules.sparse_mode < 2) rules.mask = rules.mask.narrow(-2, 0, q_length).narrow(-1, 0, k_length);
    auto [gq, gk, gv] =
        attend_backward(sequence(grad, q_from, q_length), sequence(p.q, q_from, q_length), sequence(p.k, k_from, k_length), sequence(p.v, k_from, k_length), rules);
    put(dq.narrow(0, q_from, q_length), gq[0].transpose(0, 1).to(dq.scalar_type()));
    put(dk.narrow(0, k_from, k_length), gk[0].transpose(0, 1).to(dk.scalar_type()));
    put(dv.narrow(0, k_from, k_length), gv[0].transpose(0, 1).to(dv.scalar_type()));
  });
}

AttentionRules rules_of(double scale, double keep, int64_t before, int64_t after, int64_t sparse, const Tensor& bias, const Tensor& mask, int64_t bias_type = 1) {
  TORCH_CHECK(bias_type == 1 || !bias.defined(), "pse_type ", bias_type, " is not emulated");
  return {scale, keep, before, after, sparse, bias, mask, {}, {}};
}

}  // namespace

#define INPUTS Tensor q, Tensor k, Tensor v, Tensor bias, Tensor drop, Tensor, Tensor mask
#define NUMBERS double scale, double keep, int64_t before, int64_t after, int64_t heads, Text layout, int64_t, int64_t sparse
#define OUTPUTS Tensor largest, Tensor sum, Tensor, Tensor out
OP(FlashAttentionScore, INPUTS, Ints, NUMBERS, OUTPUTS) { forward({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask), heads, layout}, drop, largest, sum, out); }
OP(FlashAttentionScoreV2, INPUTS, Ints, Ints, Ints, NUMBERS, int64_t bias_type, OUTPUTS) {
  forward({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask, bias_type), heads, layout}, drop, largest, sum, out);
}
OP(FlashAttentionScoreV3, INPUTS, Tensor sink, Ints, Ints, Ints, NUMBERS, int64_t bias_type, OUTPUTS) {
  auto rules = rules_of(scale, keep, before, after, sparse, bias, mask, bias_type);
  rules.sink = sink;
  forward({q, k, v, rules, heads, layout}, drop, largest, sum, out);
}
OP(FlashAttentionVarLenScore, INPUTS, Ints, Ints q_ends, Ints k_ends, NUMBERS, OUTPUTS) {
  forward_packed({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask), heads, layout}, q_ends, k_ends, largest, sum, out);
}
OP(FlashAttentionVarLenScoreV2, INPUTS, Ints, Ints q_ends, Ints k_ends, Ints, Ints, NUMBERS, int64_t bias_type, OUTPUTS) {
  forward_packed({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask, bias_type), heads, layout}, q_ends, k_ends, largest, sum, out);
}

#define GRAD_INPUTS Tensor q, Tensor k, Tensor v, Tensor grad, Tensor bias, Tensor drop, Tensor, Tensor mask, Tensor, Tensor, Tensor, Tensor
#define GRAD_OUTPUTS Tensor dq, Tensor dk, Tensor dv, Tensor
OP(FlashAttentionScoreGrad, GRAD_INPUTS, Ints, NUMBERS, GRAD_OUTPUTS) { backward({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask), heads, layout}, grad, drop, dq, dk, dv); }
OP(FlashAttentionScoreGradV2, GRAD_INPUTS, Ints, Ints, Ints, NUMBERS, int64_t bias_type, GRAD_OUTPUTS) {
  backward({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask, bias_type), heads, layout}, grad, drop, dq, dk, dv);
}
OP(FlashAttentionUnpaddingScoreGrad, GRAD_INPUTS, Ints, Ints q_ends, Ints k_ends, NUMBERS, GRAD_OUTPUTS) {
  backward_packed({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask), heads, layout}, grad, q_ends, k_ends, dq, dk, dv);
}
OP(FlashAttentionUnpaddingScoreGradV2, GRAD_INPUTS, Ints, Ints q_ends, Ints k_ends, Ints, Ints, NUMBERS, int64_t bias_type, GRAD_OUTPUTS) {
  backward_packed({q, k, v, rules_of(scale, keep, before, after, sparse, bias, mask, bias_type), heads, layout}, grad, q_ends, k_ends, dq, dk, dv);
}
