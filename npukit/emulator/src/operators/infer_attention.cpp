// Attention for inference: npu_fused_infer_attention_score, npu_prompt_flash_attention, npu_incre_flash_attention.
// Paged caches, quantised caches and shared prefixes are refused.
#include "attention.hpp"

using namespace emulator;

namespace {

struct Inference {
  Tensor q;
  Tensors k, v;
  Tensor bias, mask;
  Ints q_lengths, k_lengths;
  int64_t heads, kv_heads;
  double scale;
  int64_t before, after, sparse;
  std::string layout;
};

Tensor first_rows(const Tensor& a, int64_t count) { return a.narrow(2, 0, count); }

// Packed (TND): lengths are where each sequence ends.
void run_packed(const Inference& p, const Tensor& out, const Tensor& lse) {
  int64_t q_from = 0, k_from = 0;
  auto one = [](const Tensor& a, int64_t from, int64_t to) { return a.narrow(0, from, to - from).transpose(0, 1).unsqueeze(0); };
  for (size_t i = 0; i < p.q_lengths.size(); ++i) {
    int64_t q_to = p.q_lengths[i], k_to = p.k_lengths[i];
    AttentionRules rules{p.scale, 1, p.before, p.after, p.sparse, {}, p.mask, {}, {}};
    auto result = attend(one(p.q, q_from, q_to), one(p.k[0], k_from, k_to), one(p.v[0], k_from, k_to), rules);
    put(out.narrow(0, q_from, q_to - q_from), result.out[0].transpose(0, 1).to(out.scalar_type()));
    if (lse.defined() && lse.numel()) put(lse.narrow(0, q_from, q_to - q_from), (result.largest + result.sum.log())[0].transpose(0, 1));
    q_from = q_to;
    k_from = k_to;
  }
}

void run(const Inference& p, const Tensor& out, const Tensor& lse) {
  if (p.layout == "TND") return run_packed(p, out, lse);
  auto layout = p.layout == "BNSD_BSND" ? std::string("BNSD") : p.layout;
  auto out_layout = p.layout == "BNSD_BSND" ? std::string("BSND") : p.layout;
  int64_t kv_heads = p.kv_heads ? p.kv_heads : p.heads;
  auto q = to_bnsd(p.q, layout, p.heads);
  Tensors rows, statistics;
  for (int64_t b = 0; b < q.size(0); ++b) {
    // Keys come as one tensor for the batch, or one for each sequence.
    auto of_sequence = [&](const Tensors& all) { return to_bnsd(all.size() == 1 ? all[0].narrow(0, b, 1) : all[b], layout, kv_heads); };
    auto k = of_sequence(p.k), v = of_sequence(p.v);
    int64_t queries = p.q_lengths.empty() ? q.size(2) : p.q_lengths[p.q_lengths.size() == 1 ? 0 : b];
    int64_t keys = p.k_lengths.empty() ? k.size(2) : p.k_lengths[p.k_lengths.size() == 1 ? 0 : b];
    auto part = [&](const Tensor& a) { return a.defined() && a.dim() > 2 && a.size(0) > 1 ? a.narrow(0, b, 1) : a; };
    auto cut = [&](const Tensor& a) { return a.defined() && a.numel() && p.sparse < 2 ? a.narrow(-2, 0, queries).narrow(-1, 0, keys) : a; };
    AttentionRules rules{p.scale, 1, p.before, p.after, p.sparse, cut(part(p.bias)), cut(part(p.mask)), {}, {}};
    if (rules.mask.defined() && rules.mask.dim() == 3) rules.mask = rules.mask.unsqueeze(1);
    auto result = attend(first_rows(q.narrow(0, b, 1), queries), first_rows(k, keys), first_rows(v, keys), rules);
    rows.push_back(at::constant_pad_nd(result.out, {0, 0, 0, q.size(2) - queries}));
    statistics.push_back(at::constant_pad_nd(result.largest + result.sum.log(), {0, 0, 0, q.size(2) - queries}));
  }
  put(out, from_bnsd(at::cat(rows), out_layout).to(out.scalar_type()));
  if (lse.defined() && lse.numel()) put(lse, at::cat(statistics));
}

void refuse(const Tensor& given, const char* what) { TORCH_CHECK(!given.defined() || !given.numel(), what, " is not emulated"); }

}  // namespace

#define QUANTISATION Tensor, Tensor quant1, Tensor, Tensor quant2, Tensor, Tensor antiquant, Tensor, Tensor blocks, Tensor, Tensor, Tensor key_antiquant, Tensor, Tensor, Tensor, Tensor prefix, Tensor
#define NUMBERS int64_t heads, double scale, int64_t before, int64_t after, Text layout, int64_t kv_heads, int64_t sparse, int64_t, int64_t, int64_t, bool, int64_t, int64_t
#define REFUSALS                              \
  refuse(blocks, "a paged cache");            \
  refuse(quant1, "quantised attention");      \
  refuse(quant2, "quantised attention");      \
  refuse(antiquant, "a quantised cache");     \
  refuse(key_antiquant, "a quantised cache"); \
  refuse(prefix, "a shared prefix");

OP(FusedInferAttentionScoreV2, Tensor q, Tensors k, Tensors v, Tensor bias, Tensor mask, Ints q_lengths, Ints k_lengths, QUANTISATION, Ints, NUMBERS, Tensor out, Tensor lse) {
  REFUSALS
  run({q, k, v, bias, mask, q_lengths, k_lengths, heads, kv_heads, scale, before, after, sparse, layout}, out, lse);
}
OP(FusedInferAttentionScoreV3, Tensor q, Tensors k, Tensors v, Tensor bias, Tensor mask, Ints q_lengths, Ints k_lengths, QUANTISATION, Ints, Tensor q_rope, Tensor, Tensor, NUMBERS, Tensor out, Tensor lse) {
  REFUSALS
  refuse(q_rope, "a rotary part apart from the query");
  run({q, k, v, bias, mask, q_lengths, k_lengths, heads, kv_heads, scale, before, after, sparse, layout}, out, lse);
}
OP(FusedInferAttentionScoreV4, Tensor q, Tensors k, Tensors v, Tensor bias, Tensor mask, Ints q_lengths, Ints k_lengths, QUANTISATION, Tensor, Tensor q_rope, Tensor, Tensor, Tensor, Tensor sink, NUMBERS,
   int64_t, Tensor out, Tensor lse) {
  REFUSALS
  refuse(q_rope, "a rotary part apart from the query");
  refuse(sink, "an attention sink");
  run({q, k, v, bias, mask, q_lengths, k_lengths, heads, kv_heads, scale, before, after, sparse, layout}, out, lse);
}
OP(PromptFlashAttentionV3, Tensor q, Tensor k, Tensor v, Tensor bias, Tensor mask, Ints q_lengths, Ints k_lengths, Tensor, Tensor quant1, Tensor, Tensor quant2, Tensor, int64_t heads, double scale,
   int64_t before, int64_t after, Text layout, int64_t kv_heads, int64_t sparse, int64_t, Tensor out) {
  refuse(quant1, "quantised attention");
  refuse(quant2, "quantised attention");
  run({q, {k}, {v}, bias, mask, q_lengths, k_lengths, heads, kv_heads, scale, before, after, sparse, layout}, out, {});
}
OP(IncreFlashAttentionV4, Tensor q, Tensors k, Tensors v, Tensor bias, Tensor mask, Ints k_lengths, Tensor, Tensor quant1, Tensor, Tensor quant2, Tensor, Tensor antiquant, Tensor, Tensor blocks, Tensor,
   int64_t heads, double scale, Text layout, int64_t kv_heads, int64_t, int64_t, Tensor out) {
  refuse(quant1, "quantised attention");
  refuse(quant2, "quantised attention");
  refuse(antiquant, "a quantised cache");
  refuse(blocks, "a paged cache");
  run({q, k, v, bias, mask, {}, k_lengths, heads, kv_heads, scale, INT32_MAX, INT32_MAX, mask.defined() ? 1 : 0, layout}, out, {});
}
