// Lists of tensors at once (torch._foreach_*).
#include "abi.hpp"

using namespace emulator;

template <class F>
static void each(const Tensors& outs, F value) {
  for (size_t i = 0; i < outs.size(); ++i) put(outs[i], value(i));
}
// A number that comes as a tensor of one element, on the card.
static Scalar number(const Tensor& t) { return t.reshape(-1)[0].item(); }
static Scalar number(const Tensor& t, size_t i) { return t.reshape(-1)[i].item(); }

#define EACH_UNARY(name, f) \
  OP(name, Tensors a, Tensors out) { each(out, [&](size_t i) { return at::f(a[i]); }); }
EACH_UNARY(ForeachAbs, abs)
EACH_UNARY(ForeachAcos, acos)
EACH_UNARY(ForeachAsin, asin)
EACH_UNARY(ForeachAtan, atan)
EACH_UNARY(ForeachCos, cos)
EACH_UNARY(ForeachCosh, cosh)
EACH_UNARY(ForeachErf, erf)
EACH_UNARY(ForeachErfc, erfc)
EACH_UNARY(ForeachExp, exp)
EACH_UNARY(ForeachExpm1, expm1)
EACH_UNARY(ForeachLog, log)
EACH_UNARY(ForeachLog10, log10)
EACH_UNARY(ForeachLog1p, log1p)
EACH_UNARY(ForeachLog2, log2)
EACH_UNARY(ForeachNeg, neg)
EACH_UNARY(ForeachReciprocal, reciprocal)
EACH_UNARY(ForeachSigmoid, sigmoid)
EACH_UNARY(ForeachSign, sign)
EACH_UNARY(ForeachSin, sin)
EACH_UNARY(ForeachSinh, sinh)
EACH_UNARY(ForeachSqrt, sqrt)
EACH_UNARY(ForeachTan, tan)
EACH_UNARY(ForeachTanh, tanh)
OP(ForeachCopy, Tensors a, Tensors out) { each(out, [&](size_t i) { return a[i].to(out[i].scalar_type()); }); }
OP(ForeachZeroInplace, Tensors a) {
  for (auto& one : a) one.zero_();
}

#define EACH_LIST(name, f) \
  OP(name, Tensors a, Tensors b, Tensors out) { each(out, [&](size_t i) { return at::f(a[i], b[i]); }); }
EACH_LIST(ForeachDivList, div)
EACH_LIST(ForeachMaximumList, maximum)
EACH_LIST(ForeachMinimumList, minimum)
EACH_LIST(ForeachMulList, mul)
EACH_LIST(ForeachPowList, pow)

static Tensor at_least(const Tensor& a, const Scalar& b) { return at::clamp_min(a, b); }
static Tensor at_most(const Tensor& a, const Scalar& b) { return at::clamp_max(a, b); }
// Each with one number for all (in a tensor, or in a scalar), and with a list of numbers.
#define EACH_SCALAR(name, f)                                                                                         \
  OP(name##Scalar, Tensors a, Tensor b, Tensors out) { each(out, [&](size_t i) { return f(a[i], number(b)); }); } \
  OP(name##ScalarV2, Tensors a, Scalar b, Tensors out) { each(out, [&](size_t i) { return f(a[i], b); }); }        \
  OP(name##ScalarList, Tensors a, Scalars b, Tensors out) { each(out, [&](size_t i) { return f(a[i], b[i]); }); }
static Tensor plus(const Tensor& a, const Scalar& b) { return at::add(a, b); }
static Tensor minus(const Tensor& a, const Scalar& b) { return at::sub(a, b); }
EACH_SCALAR(ForeachAdd, plus)
EACH_SCALAR(ForeachSub, minus)
EACH_SCALAR(ForeachMul, at::mul)
EACH_SCALAR(ForeachDiv, at::div)
EACH_SCALAR(ForeachMaximum, at_least)
EACH_SCALAR(ForeachMinimum, at_most)
EACH_SCALAR(ForeachPow, at::pow)

OP(ForeachAddList, Tensors a, Tensors b, Tensor alpha, Tensors out) { each(out, [&](size_t i) { return at::add(a[i], b[i], number(alpha)); }); }
OP(ForeachAddListV2, Tensors a, Tensors b, Scalar alpha, Tensors out) { each(out, [&](size_t i) { return at::add(a[i], b[i], alpha); }); }
OP(ForeachSubList, Tensors a, Tensors b, Tensor alpha, Tensors out) { each(out, [&](size_t i) { return at::sub(a[i], b[i], number(alpha)); }); }
OP(ForeachSubListV2, Tensors a, Tensors b, Scalar alpha, Tensors out) { each(out, [&](size_t i) { return at::sub(a[i], b[i], alpha); }); }
OP(ForeachPowScalarAndTensor, Scalar a, Tensors b, Tensors out) { each(out, [&](size_t i) { return at::pow(a, b[i]); }); }
OP(ForeachLerpList, Tensors a, Tensors b, Tensors weight, Tensors out) { each(out, [&](size_t i) { return at::lerp(a[i], b[i], weight[i]); }); }
OP(ForeachLerpScalar, Tensors a, Tensors b, Scalar weight, Tensors out) { each(out, [&](size_t i) { return at::lerp(a[i], b[i], weight); }); }

#define EACH_ADDC(name, f)                                                                                                                                             \
  OP(name##Scalar, Tensors a, Tensors b, Tensors c, Tensor value, Tensors out) { each(out, [&](size_t i) { return at::f(a[i], b[i], c[i], number(value)); }); }        \
  OP(name##ScalarV2, Tensors a, Tensors b, Tensors c, Scalar value, Tensors out) { each(out, [&](size_t i) { return at::f(a[i], b[i], c[i], value); }); }              \
  OP(name##ScalarList, Tensors a, Tensors b, Tensors c, Tensor values, Tensors out) { each(out, [&](size_t i) { return at::f(a[i], b[i], c[i], number(values, i)); }); }
EACH_ADDC(ForeachAddcdiv, addcdiv)
EACH_ADDC(ForeachAddcmul, addcmul)

OP(ForeachNorm, Tensors a, Scalar order, Tensors out) { each(out, [&](size_t i) { return at::linalg_vector_norm(a[i], order, {}, false, out[i].scalar_type()).reshape(out[i].sizes()); }); }
OP(ForeachNonFiniteCheckAndUnscale, Tensors a, Tensor found, Tensor inverse) {
  for (auto& one : a) {
    if (!at::isfinite(one).all().item<bool>()) found.fill_(1);
    one.mul_(inverse.reshape({}));
  }
}
static Tensor off(const Tensor& a, char mode) {
  switch (mode) {  // the character of ACL's rounding mode
    case 1: return at::round(a);
    case 2: return at::floor(a);
    case 3: return at::ceil(a);
    case 5: return at::trunc(a);
    case 7: return at::frac(a);
  }
  TORCH_CHECK(false, "rounding mode ", int(mode), " is not emulated");
}
OP(ForeachRoundOffNumber, Tensors a, Tensor mode, Tensors out) { each(out, [&](size_t i) { return off(a[i], number(mode).toChar()); }); }
OP(ForeachRoundOffNumberV2, Tensors a, Scalar mode, Tensors out) { each(out, [&](size_t i) { return off(a[i], mode.toChar()); }); }
