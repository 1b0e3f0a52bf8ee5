// Gated delta rule (Qwen3.5, MiniCPM-V-4.6) and hyper-connections (DeepSeek-V4). Meaning from the docstrings of
// npu_recurrent_gated_delta_rule, npu_chunk_gated_delta_rule and npu_mhc_* in torch_npu; states are kept in bf16, steps are fp32.
#include "abi.hpp"

using namespace emulator;

namespace {

void need_bfloat16(const Tensor& a, const char* what) { TORCH_CHECK(a.scalar_type() == at::kBFloat16, what, " must be bfloat16, and is ", a.scalar_type()); }

struct Delta {
  Tensor q, k, v, beta, g;  // (T, Nk, Dk), (T, Nk, Dk), (T, Nv, Dv), (T, Nv), (T, Nv)
  double scale;
};

Delta delta_of(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& beta, const Tensor& g, double scale) {
  need_bfloat16(query, "query");
  need_bfloat16(key, "key");
  need_bfloat16(value, "value");
  int64_t heads = value.size(1), times = heads / query.size(1);
  auto wide = [&](const Tensor& a) { return a.to(at::kFloat).repeat_interleave(times, 1); };
  auto of_heads = [&](const Tensor& a, double otherwise) { return a.defined() ? a.to(at::kFloat) : at::full({value.size(0), heads}, otherwise, at::kFloat); };
  return {wide(query), wide(key), value.to(at::kFloat), of_heads(beta, 1), of_heads(g, 0), scale};
}

// One token on the state (Nv, Dv, Dk), in place; gives the output (Nv, Dv).
Tensor step(const Delta& d, int64_t t, Tensor& state) {
  auto k = d.k[t].unsqueeze(-2);
  state = state * at::exp(d.g[t]).view({-1, 1, 1});
  auto memory = (state * k).sum(-1);
  auto correction = (d.v[t] - memory) * d.beta[t].unsqueeze(-1);
  state = state + correction.unsqueeze(-1) * k;
  return (state * (d.q[t] * d.scale).unsqueeze(-2)).sum(-1);
}

}  // namespace

// Each token's state goes to the block that ssm_state_indices names for it; a sequence starts from the block of its last
// accepted token.
OP(RecurrentGatedDeltaRule, Tensor query, Tensor key, Tensor value, Tensor beta, Tensor state, Tensor lengths, Tensor blocks, Tensor g, Tensor gk, Tensor accepted, float scale, Tensor out) {
  TORCH_CHECK(!gk.defined(), "gk is not supported by this operator");
  need_bfloat16(state, "state");
  auto d = delta_of(query, key, value, beta, g, scale);
  auto results = at::empty(value.sizes(), at::kFloat);
  int64_t from = 0;
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    int64_t length = lengths[i].item<int64_t>();
    TORCH_CHECK(length <= 8, "a sequence of ", length, " tokens; at most 8 are supported");
    int64_t start = accepted.defined() ? accepted[i].item<int64_t>() - 1 : 0;
    auto now = state[blocks[from + start].item<int64_t>()].to(at::kFloat);
    for (int64_t t = from; t < from + length; ++t) {
      results[t].copy_(step(d, t, now));
      state[blocks[t].item<int64_t>()].copy_(now);
    }
    from += length;
  }
  put(out, results.to(out.scalar_type()));
}
OP(ChunkGatedDeltaRule, Tensor query, Tensor key, Tensor value, Tensor beta, Tensor initial, Tensor lengths, float scale, Tensor g, Tensor out, Tensor final_state) {
  TORCH_CHECK(query.size(2) == 128 && value.size(2) == 128, "head sizes must be 128, and are ", query.size(2), " and ", value.size(2));
  TORCH_CHECK(value.size(1) <= 64, value.size(1), " heads; at most 64 are supported");
  auto d = delta_of(query, key, value, beta, g, scale);
  auto results = at::empty(value.sizes(), at::kFloat);
  int64_t from = 0;
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    int64_t length = lengths[i].item<int64_t>();
    auto now = initial[i].to(at::kFloat);
    for (int64_t t = from; t < from + length; ++t) results[t].copy_(step(d, t, now));
    final_state[i].copy_(now);
    from += length;
  }
  put(out, results.to(out.scalar_type()));
}

// x (..., n, D); phi (n*n + 2n, n*D): rows for pre (n), post (n) and res (n*n), each with its own alpha.
static void hyper_pre(const Tensor& x, const Tensor& phi, const Tensor& alpha, const Tensor& bias, const Tensor& gamma, double norm_eps, double hc_eps, const Tensor& h_in, const Tensor& h_post,
                      const Tensor& h_res, const Tensor& inv_rms, const Tensor& h_mix, const Tensor& h_pre) {
  int64_t n = x.size(-2);
  auto wide = x.to(at::kFloat).flatten(-2);
  auto rms = at::rsqrt((wide * wide).mean(-1, true) + norm_eps);
  auto mix = at::matmul(gamma.defined() ? wide * gamma.flatten() : wide, phi.t());
  auto part = [&](int64_t i, int64_t from, int64_t count) { return mix.narrow(-1, from, count) * rms * alpha[i] + bias.narrow(0, from, count); };
  auto pre = at::sigmoid(part(0, 0, n)) + hc_eps;
  put(h_in, (pre.unsqueeze(-1) * x.to(at::kFloat)).sum(-2).to(h_in.scalar_type()));
  put(h_post, 2 * at::sigmoid(part(1, n, n)));
  if (phi.size(0) > 2 * n) put(h_res, part(2, 2 * n, n * n).unflatten(-1, {n, n}));
  auto wanted = [](const Tensor& a) { return a.defined() && a.numel(); };
  if (wanted(inv_rms)) put(inv_rms, rms.squeeze(-1));
  if (wanted(h_mix)) put(h_mix, mix);
  if (wanted(h_pre)) put(h_pre, pre);
}
OP(MhcPre, Tensor x, Tensor phi, Tensor alpha, Tensor bias, Tensor gamma, double norm_eps, double hc_eps, Tensor h_in, Tensor h_post, Tensor h_res, Tensor inv_rms, Tensor h_mix, Tensor h_pre) {
  hyper_pre(x, phi, alpha, bias, gamma, norm_eps, hc_eps, h_in, h_post, h_res, inv_rms, h_mix, h_pre);
}
OP(MhcPreV2, Tensor x, Tensor phi, Tensor alpha, Tensor bias, Tensor gamma, double norm_eps, double hc_eps, int64_t, Tensor h_in, Tensor h_post, Tensor h_res, Tensor inv_rms, Tensor h_mix,
   Tensor h_pre) {
  hyper_pre(x, phi, alpha, bias, gamma, norm_eps, hc_eps, h_in, h_post, h_res, inv_rms, h_mix, h_pre);
}
// y = transpose(h_res) x + h_post (outer) h_out; without h_res, x itself.
OP(MhcPost, Tensor x, Tensor h_res, Tensor h_out, Tensor h_post, Tensor out) {
  auto residual = h_res.defined() ? at::matmul(h_res.mT(), x.to(at::kFloat)) : x.to(at::kFloat);
  put(out, (residual + h_post.unsqueeze(-1) * h_out.to(at::kFloat).unsqueeze(-2)).to(out.scalar_type()));
}
