// Rotary position embeddings. Meaning from the docstrings of npu_rotary_mul, npu_apply_rotary_pos_emb and npu_mrope in torch_npu.
#include "abi.hpp"

using namespace emulator;

// The partner of each number: 0 half (second half negated, then first), 1 interleave (pairs side by side).
static Tensor turned(const Tensor& a, int64_t mode) {
  if (mode == 1) {
    auto pairs = a.unflatten(-1, {-1, 2});
    return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
  }
  TORCH_CHECK(mode == 0, "rotary mode ", mode, " is not emulated");
  auto halves = a.chunk(2, -1);
  return at::cat({-halves[1], halves[0]}, -1);
}
static Tensor turned_back(const Tensor& a, int64_t mode) {
  if (mode == 1) {
    auto pairs = a.unflatten(-1, {-1, 2});
    return at::stack({pairs.select(-1, 1), -pairs.select(-1, 0)}, -1).flatten(-2);
  }
  TORCH_CHECK(mode == 0, "rotary mode ", mode, " is not emulated");
  auto halves = a.chunk(2, -1);
  return at::cat({halves[1], -halves[0]}, -1);
}
static Tensor rotated(const Tensor& a, const Tensor& cos, const Tensor& sin, int64_t mode) {
  auto x = a.to(at::kFloat);
  return (x * cos.to(at::kFloat) + turned(x, mode) * sin.to(at::kFloat)).to(a.scalar_type());
}

OP(RotaryPositionEmbedding, Tensor a, Tensor cos, Tensor sin, int64_t mode, Tensor out) { put(out, rotated(a, cos, sin, mode)); }
OP(RotaryPositionEmbeddingV2, Tensor a, Tensor cos, Tensor sin, int64_t mode, Tensor rotate, Tensor out) {
  if (!rotate.defined()) return put(out, rotated(a, cos, sin, mode));
  auto x = a.to(at::kFloat);
  put(out, (x * cos.to(at::kFloat) + at::matmul(x, rotate.to(at::kFloat)) * sin.to(at::kFloat)).to(out.scalar_type()));
}
OP(RotaryPositionEmbeddingGrad, Tensor grad, Tensor cos, Tensor sin, Tensor a, int64_t mode, Tensor grad_a, Tensor grad_cos, Tensor grad_sin) {
  auto g = grad.to(at::kFloat);
  put(grad_a, (g * cos.to(at::kFloat) + turned_back(g * sin.to(at::kFloat), mode)).to(grad_a.scalar_type()));
  if (!a.defined()) return;
  auto x = a.to(at::kFloat);
  put(grad_cos, (g * x).sum_to_size(grad_cos.sizes()).to(grad_cos.scalar_type()));
  put(grad_sin, (g * turned(x, mode)).sum_to_size(grad_sin.sizes()).to(grad_sin.scalar_type()));
}

// In place, of the first numbers of each head, as many as cos has.
static void rotate_part(const Tensor& a, const Tensor& cos, const Tensor& sin, int64_t mode) {
  auto part = a.narrow(-1, 0, cos.size(-1));
  put(part, rotated(part, cos, sin, mode));
}
OP(ApplyRotaryPosEmb, Tensor query, Tensor key, Tensor cos, Tensor sin, int64_t) {
  rotate_part(query, cos, sin, 0);
  rotate_part(key, cos, sin, 0);
}
OP(ApplyRotaryPosEmbV2, Tensor query, Tensor key, Tensor cos, Tensor sin, int64_t, Text mode) {
  TORCH_CHECK(mode == "half" || mode == "interleave", "rotary mode ", mode, " is not emulated");
  rotate_part(query, cos, sin, mode == "interleave");
  rotate_part(key, cos, sin, mode == "interleave");
}

// positions (tokens) or (3, tokens); cache (positions, rotary): half cosines, half sines. With three sections each part of
// the rotary dimension takes the angle of its own position (time, height, width): in a row, or one after the other in turn.
static Tensor angles(const Tensor& positions, const Tensor& cache, const Ints& sections, bool in_turn) {
  auto found = cache.index_select(0, positions.reshape(-1).to(at::kLong)).to(at::kFloat);
  if (positions.dim() == 1) return found;
  found = found.view({positions.size(0), positions.size(1), -1});
  auto choose = [&](const Tensor& part) {
    if (!in_turn) {
      auto pieces = part.split_with_sizes(sections, -1);
      for (size_t i = 0; i < pieces.size(); ++i) pieces[i] = pieces[i].select(0, i);
      return at::cat(pieces, -1);
    }
    auto chosen = part.select(0, 0).clone();
    for (int64_t i = 1; i < 3; ++i) chosen.slice(-1, i, sections[i] * 3, 3).copy_(part.select(0, i).slice(-1, i, sections[i] * 3, 3));
    return chosen;
  };
  auto halves = found.chunk(2, -1);
  return at::cat({choose(halves[0]), choose(halves[1])}, -1);
}
static void rope(const Tensor& positions, const Tensor& cache, const Ints& sections, int64_t head, bool half, bool in_turn, const Tensor& a, const Tensor& out) {
  auto halves = angles(positions, cache, sections, in_turn).unsqueeze(1).chunk(2, -1);
  auto both = [&](const Tensor& t) { return half ? at::cat({t, t}, -1) : t.repeat_interleave(2, -1); };
  auto heads = a.view({a.size(0), -1, head}).clone();
  rotate_part(heads, both(halves[0]), both(halves[1]), half ? 0 : 1);
  put(out, heads.view(out.sizes()));
}
OP(RopeWithSinCosCache, Tensor positions, Tensor query, Tensor key, Tensor cache, Ints sections, int64_t head, bool half, Tensor query_out, Tensor key_out) {
  rope(positions, cache, sections, head, half, false, query, query_out);
  rope(positions, cache, sections, head, half, false, key, key_out);
}
OP(RopeWithSinCosCacheV2, Tensor positions, Tensor query, Tensor key, Tensor cache, Ints sections, int64_t head, bool half, int64_t in_turn, Tensor query_out, Tensor key_out) {
  rope(positions, cache, sections, head, half, in_turn, query, query_out);
  rope(positions, cache, sections, head, half, in_turn, key, key_out);
}
OP(InterleaveRope, Tensor a, Tensor cos, Tensor sin, Tensor out) {
  // Pairs are first parted: even places, then odd ones.
  auto parted = a.unflatten(-1, {-1, 2}).transpose(-1, -2).flatten(-2);
  put(out, rotated(parted, cos, sin, 0));
}
