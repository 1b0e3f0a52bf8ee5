// Random numbers: reproducible from seed and offset, but not the card's own sequence.
#include <ATen/CPUGeneratorImpl.h>

#include "abi.hpp"

using namespace emulator;

static at::Generator generator(uint64_t seed, uint64_t offset) { return at::detail::createCPUGenerator(seed * 1000003 + offset); }
static uint64_t number(const Tensor& t) { return static_cast<uint64_t>(t.reshape(-1)[0].item<int64_t>()); }

OP(InplaceNormal, Tensor a, float mean, float deviation, int64_t seed, int64_t offset) { a.normal_(mean, deviation, generator(seed, offset)); }
OP(InplaceNormalTensor, Tensor a, float mean, float deviation, Tensor seed, Tensor offset, uint64_t more) { a.normal_(mean, deviation, generator(number(seed), number(offset) + more)); }
static Tensor normal(const Tensor& out, const Tensor& mean, const Tensor& deviation, int64_t seed, int64_t offset) {
  auto noise = at::empty(out.sizes(), at::kFloat).normal_(0, 1, generator(seed, offset));
  return (noise * deviation + mean).to(out.scalar_type());
}
OP(NormalFloatFloat, float mean, float deviation, int64_t seed, int64_t offset, Tensor out) { put(out, normal(out, at::scalar_tensor(mean), at::scalar_tensor(deviation), seed, offset)); }
OP(NormalFloatTensor, float mean, Tensor deviation, int64_t seed, int64_t offset, Tensor out) { put(out, normal(out, at::scalar_tensor(mean), deviation, seed, offset)); }
OP(NormalTensorFloat, Tensor mean, float deviation, int64_t seed, int64_t offset, Tensor out) { put(out, normal(out, mean, at::scalar_tensor(deviation), seed, offset)); }
OP(NormalTensorTensor, Tensor mean, Tensor deviation, int64_t seed, int64_t offset, Tensor out) { put(out, normal(out, mean, deviation, seed, offset)); }
OP(InplaceUniform, Tensor a, double low, double high, int64_t seed, int64_t offset) { a.uniform_(low, high, generator(seed, offset)); }
OP(InplaceUniformTensor, Tensor a, double low, double high, Tensor seed, Tensor offset, uint64_t more) { a.uniform_(low, high, generator(number(seed), number(offset) + more)); }
OP(InplaceRandom, Tensor a, int64_t low, int64_t high, uint64_t seed, uint64_t offset) { a.random_(low, high, generator(seed, offset)); }
OP(InplaceBernoulli, Tensor a, Scalar p, uint64_t seed, uint64_t offset) { a.bernoulli_(p.toDouble(), generator(seed, offset)); }
OP(InplaceBernoulliTensor, Tensor a, Tensor p, uint64_t seed, uint64_t offset) { a.bernoulli_(p, generator(seed, offset)); }
OP(SimThreadExponential, Tensor a, int64_t, double lambda, int64_t seed, int64_t offset) { a.exponential_(lambda, generator(seed, offset)); }
OP(Multinomial, Tensor a, int64_t count, bool replacement, uint64_t seed, uint64_t offset, Tensor out) { put(out, at::multinomial(a, count, replacement, generator(seed, offset))); }
OP(MultinomialTensor, Tensor a, int64_t count, bool replacement, Tensor seed, Tensor offset, uint64_t more, Tensor out) {
  put(out, at::multinomial(a, count, replacement, generator(number(seed), number(offset) + more)));
}
OP(Randperm, int64_t n, uint64_t seed, uint64_t offset, Tensor out) { put(out, at::randperm(n, generator(seed, offset), out.options())); }

// Dropout masks hold one bit for each element: 1 keeps.
static Tensor kept_bits(const Tensor& mask, int64_t count) {
  auto shifts = at::arange(8, at::kByte);
  return at::bitwise_and(at::bitwise_right_shift(mask.view(at::kByte).reshape({-1, 1}), shifts), 1).reshape(-1).narrow(0, 0, count).to(at::kBool);
}
static Tensor packed_bits(const Tensor& kept, const Tensor& mask) {
  auto bits = at::zeros({mask.numel() * 8}, at::kByte);
  bits.narrow(0, 0, kept.numel()).copy_(kept.reshape(-1));
  auto weights = at::bitwise_left_shift(at::ones({8}, at::kByte), at::arange(8, at::kByte));
  return (bits.reshape({-1, 8}) * weights).sum(1, false, at::kByte).reshape(mask.sizes());
}
static void make_mask(const Ints& shape, double p, uint64_t seed, uint64_t offset, const Tensor& mask) {
  put(mask, packed_bits(at::empty(shape, at::kFloat).bernoulli_(1 - p, generator(seed, offset)), mask));
}
OP(DropoutGenMask, Ints shape, double p, int64_t seed, int64_t offset, Tensor mask) { make_mask(shape, p, seed, offset, mask); }
OP(DropoutGenMaskV2, Ints shape, double p, int64_t seed, int64_t offset, Dtype, Tensor mask) { make_mask(shape, p, seed, offset, mask); }
OP(DropoutGenMaskV2Tensor, Ints shape, double p, Tensor seed, Tensor offset, uint64_t more, Dtype, Tensor mask) { make_mask(shape, p, number(seed), number(offset) + more, mask); }
OP(DropoutDoMask, Tensor a, Tensor mask, double p, Tensor out) {
  auto kept = kept_bits(mask, a.numel()).reshape(a.sizes());
  put(out, p == 1 ? at::zeros_like(a) : at::where(kept, a / (1 - p), at::zeros({}, a.options())));
}
OP(DropoutV3, Tensor a, Tensor, double p, uint64_t seed, uint64_t offset, Tensor out, Tensor mask) {
  auto kept = at::empty(a.sizes(), at::kFloat).bernoulli_(1 - p, generator(seed, offset)).to(at::kBool);
  put(out, p == 1 ? at::zeros_like(a) : at::where(kept, a / (1 - p), at::zeros({}, a.options())));
  put(mask, packed_bits(kept, mask));
}
