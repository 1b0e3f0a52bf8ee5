#include "attention.hpp"

using namespace emulator;

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

Tensor dropped(const AttentionRules& rules, int64_t queries, int64_t keys) {
  auto i = at::arange(queries).unsqueeze(1), j = at::arange(keys).unsqueeze(0);
  int64_t shift = keys - queries;
  switch (rules.sparse_mode) {
    case 0:
      if (!rules.mask.defined() || !rules.mask.numel()) return {};
      return rules.mask.to(at::kBool).logical_or((j - i) > rules.after).logical_or((i - j) > rules.before);
    case 1: return rules.mask.to(at::kBool);
    case 2: return j > i;
    case 3: return j > i + shift;
    case 4: return ((j - i - shift) > rules.after).logical_or((i + shift - j) > rules.before);
  }
  TORCH_CHECK(false, "sparse_mode ", rules.sparse_mode, " is not emulated");
}

Tensor scores_of(const Tensor& q, const Tensor& k, const AttentionRules& rules) {
  auto scores = at::matmul(q, k.mT()) * rules.scale;
  if (rules.bias.defined() && rules.bias.numel()) scores = scores + rules.bias.to(at::kFloat);
  auto hidden = dropped(rules, scores.size(2), scores.size(3));
  return hidden.defined() ? scores.masked_fill(hidden, kMinusInfinity) : scores;
}

Tensor repeated(const Tensor& a, int64_t heads) { return a.size(1) == heads ? a : a.repeat_interleave(heads / a.size(1), 1); }

}  // namespace

Attended emulator::attend(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionRules& rules) {
  auto q = query.to(at::kFloat), k = repeated(key.to(at::kFloat), query.size(1)), v = repeated(value.to(at::kFloat), query.size(1));
  auto scores = scores_of(q, k, rules);
  auto largest = scores.amax({-1}, true);
  auto sink = rules.sink.defined() ? rules.sink.to(at::kFloat).view({1, -1, 1, 1}) : Tensor();
  if (sink.defined()) largest = at::maximum(largest, sink);
  auto e = at::exp(scores - at::where(largest.isinf(), at::zeros_like(largest), largest));
  auto sum = e.sum(-1, true);
  if (sink.defined()) sum = sum + at::exp(sink - largest);
  auto weights = e / at::where(sum == 0, at::ones_like(sum), sum);
  auto used = rules.kept.defined() ? weights * rules.kept / rules.keep : weights;
  return {at::matmul(used, v), largest, sum, weights};
}

std::tuple<Tensor, Tensor, Tensor> emulator::attend_backward(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value, const AttentionRules& rules) {
  int64_t heads = query.size(1), kv_heads = key.size(1);
  auto q = query.to(at::kFloat), k = repeated(key.to(at::kFloat), heads), v = repeated(value.to(at::kFloat), heads), g = grad.to(at::kFloat);
  auto weights = attend(query, key, value, rules).weights;
  auto used = rules.kept.defined() ? weights * rules.kept / rules.keep : weights;
  auto grad_weights = at::matmul(g, v.mT());
  if (rules.kept.defined()) grad_weights = grad_weights * rules.kept / rules.keep;
  auto grad_scores = weights * (grad_weights - (grad_weights * weights).sum(-1, true)) * rules.scale;
  auto folded = [&](const Tensor& a) { return a.view({a.size(0), kv_heads, heads / kv_heads, a.size(2), a.size(3)}).sum(2); };
  return {at::matmul(grad_scores, k), folded(at::matmul(grad_scores.mT(), q)), folded(at::matmul(used.mT(), g))};
}

Tensor emulator::to_bnsd(const Tensor& a, const std::string& layout, int64_t heads) {
  if (layout == "BNSD") return a;
  if (layout == "BSND") return a.transpose(1, 2);
  if (layout == "BSH") return a.view({a.size(0), a.size(1), heads, -1}).transpose(1, 2);
  if (layout == "SBH") return a.view({a.size(0), a.size(1), heads, -1}).permute({1, 2, 0, 3});
  TORCH_CHECK(false, "attention layout ", layout, " is not emulated");
}

Tensor emulator::from_bnsd(const Tensor& a, const std::string& layout) {
  if (layout == "BNSD") return a;
  if (layout == "BSND") return a.transpose(1, 2);
  if (layout == "BSH") return a.transpose(1, 2).flatten(2);
  if (layout == "SBH") return a.permute({2, 0, 1, 3}).flatten(2);
  TORCH_CHECK(false, "attention layout ", layout, " is not emulated");
}
