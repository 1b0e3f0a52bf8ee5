// One value out for each value in: arithmetic, comparison, logic, activations and their gradients.
#include "abi.hpp"

using namespace emulator;

// A line defines the operator and, where CANN has it, its in-place form.
#define UNARY(name, f) \
  OP(name, Tensor a, Tensor out) { put(out, f(a)); }
#define UNARY_INPLACE(name, f) \
  UNARY(name, f)               \
  OP(Inplace##name, Tensor a) { put(a, f(a)); }
#define BINARY(name, f) \
  OP(name, Tensor a, Tensor b, Tensor out) { put(out, f(a, b)); }
#define BINARY_INPLACE(name, f) \
  BINARY(name, f)               \
  OP(Inplace##name, Tensor a, Tensor b) { put(a, f(a, b)); }
#define WITH_SCALAR(name, f) \
  OP(name, Tensor a, Scalar b, Tensor out) { put(out, f(a, b)); }
#define WITH_SCALAR_INPLACE(name, f) \
  WITH_SCALAR(name, f)               \
  OP(Inplace##name, Tensor a, Scalar b) { put(a, f(a, b)); }

UNARY(Abs, at::abs)
UNARY_INPLACE(Acos, at::acos)
UNARY_INPLACE(Acosh, at::acosh)
UNARY(AngleV2, at::angle)
UNARY_INPLACE(Asin, at::asin)
UNARY_INPLACE(Asinh, at::asinh)
UNARY_INPLACE(Atan, at::atan)
UNARY(Atanh, at::atanh)
UNARY(BitwiseNot, at::bitwise_not)
UNARY_INPLACE(Ceil, at::ceil)
UNARY_INPLACE(Cos, at::cos)
UNARY_INPLACE(Cosh, at::cosh)
UNARY_INPLACE(Erf, at::erf)
UNARY_INPLACE(Erfc, at::erfc)
UNARY_INPLACE(Erfinv, at::erfinv)
UNARY_INPLACE(Exp, at::exp)
UNARY_INPLACE(Exp2, at::exp2)
UNARY_INPLACE(Expm1, at::expm1)
UNARY_INPLACE(Floor, at::floor)
UNARY_INPLACE(Frac, at::frac)
UNARY_INPLACE(Hardsigmoid, at::hardsigmoid)
UNARY_INPLACE(Hardswish, at::hardswish)
UNARY(IsFinite, at::isfinite)
UNARY(IsNegInf, at::isneginf)
UNARY(IsPosInf, at::isposinf)
UNARY_INPLACE(Log, at::log)
UNARY_INPLACE(Log10, at::log10)
UNARY_INPLACE(Log1p, at::log1p)
UNARY_INPLACE(Log2, at::log2)
UNARY_INPLACE(LogicalNot, at::logical_not)
UNARY(LogSigmoid, at::log_sigmoid)
UNARY_INPLACE(Mish, at::mish)
UNARY(Neg, at::neg)
UNARY_INPLACE(Reciprocal, at::reciprocal)
UNARY_INPLACE(Relu, at::relu)
UNARY(Round, at::round)
UNARY_INPLACE(Rsqrt, at::rsqrt)
UNARY_INPLACE(Sigmoid, at::sigmoid)
UNARY(Sign, at::sgn)  // sgn is sign, and more for complex numbers
UNARY(Signbit, at::signbit)
UNARY(Silu, at::silu)
UNARY_INPLACE(Sin, at::sin)
UNARY_INPLACE(Sinc, at::sinc)
UNARY_INPLACE(Sinh, at::sinh)
UNARY_INPLACE(Sqrt, at::sqrt)
UNARY_INPLACE(Tan, at::tan)
UNARY_INPLACE(Tanh, at::tanh)
UNARY(Trunc, at::trunc)

BINARY(Atan2, at::atan2)
OP(InplaceAtan2, Tensor a, Tensor b) { put(a, at::atan2(a, b)); }
BINARY_INPLACE(BitwiseAndTensor, at::bitwise_and)
BINARY(BitwiseOrTensor, at::bitwise_or)
BINARY_INPLACE(BitwiseXorTensor, at::bitwise_xor)
BINARY_INPLACE(Div, at::div)
BINARY_INPLACE(EqTensor, at::eq)
BINARY_INPLACE(FloorDivide, at::floor_divide)
BINARY_INPLACE(FmodTensor, at::fmod)
BINARY(Gcd, at::gcd)
BINARY_INPLACE(GeTensor, at::ge)
BINARY_INPLACE(GtTensor, at::gt)
BINARY_INPLACE(LeTensor, at::le)
BINARY(LogAddExp, at::logaddexp)
BINARY(LogAddExp2, at::logaddexp2)
BINARY_INPLACE(LogicalAnd, at::logical_and)
BINARY_INPLACE(LogicalOr, at::logical_or)
BINARY(LogicalXor, at::logical_xor)
BINARY_INPLACE(LtTensor, at::lt)
BINARY(Maximum, at::maximum)
BINARY(Minimum, at::minimum)
BINARY_INPLACE(Mul, at::mul)
BINARY_INPLACE(NeTensor, at::ne)
BINARY(Polar, at::polar)
BINARY(Complex, at::complex)
BINARY_INPLACE(PowTensorTensor, at::pow)
BINARY_INPLACE(RemainderTensorTensor, at::remainder)
BINARY(XLogYTensor, at::xlogy)
BINARY(LeftShift, at::bitwise_left_shift)
BINARY(RightShift, at::bitwise_right_shift)

WITH_SCALAR_INPLACE(BitwiseAndScalar, at::bitwise_and)
WITH_SCALAR(BitwiseOrScalar, at::bitwise_or)
WITH_SCALAR_INPLACE(BitwiseXorScalar, at::bitwise_xor)
WITH_SCALAR_INPLACE(Divs, at::div)
WITH_SCALAR_INPLACE(EqScalar, at::eq)
WITH_SCALAR_INPLACE(FloorDivides, at::floor_divide)
WITH_SCALAR_INPLACE(FmodScalar, at::fmod)
WITH_SCALAR_INPLACE(GeScalar, at::ge)
WITH_SCALAR_INPLACE(GtScalar, at::gt)
WITH_SCALAR(LeftShifts, at::bitwise_left_shift)
WITH_SCALAR_INPLACE(LeScalar, at::le)
WITH_SCALAR_INPLACE(LtScalar, at::lt)
WITH_SCALAR(LessScalar, at::lt)
WITH_SCALAR_INPLACE(Muls, at::mul)
WITH_SCALAR_INPLACE(NeScalar, at::ne)
WITH_SCALAR_INPLACE(PowTensorScalar, at::pow)
WITH_SCALAR_INPLACE(RemainderTensorScalar, at::remainder)
WITH_SCALAR_INPLACE(XLogYScalarOther, at::xlogy)
OP(PowScalarTensor, Scalar a, Tensor b, Tensor out) { put(out, at::pow(a, b)); }
OP(RemainderScalarTensor, Scalar a, Tensor b, Tensor out) { put(out, at::remainder(a, b)); }
OP(XLogYScalarSelf, Scalar a, Tensor b, Tensor out) { put(out, at::xlogy(a, b)); }

OP(Add, Tensor a, Tensor b, Scalar alpha, Tensor out) { put(out, at::add(a, b, alpha)); }
OP(InplaceAdd, Tensor a, Tensor b, Scalar alpha) { put(a, at::add(a, b, alpha)); }
OP(Adds, Tensor a, Scalar b, Scalar alpha, Tensor out) { put(out, at::add(a, b, alpha)); }
OP(InplaceAdds, Tensor a, Scalar b, Scalar alpha) { put(a, at::add(a, b, alpha)); }
OP(AddV3, Scalar a, Tensor b, Scalar alpha, Tensor out) { put(out, at::add(at::scalar_tensor(a), b, alpha)); }
OP(AddRelu, Tensor a, Tensor b, Scalar alpha, Tensor out) { put(out, at::relu(at::add(a, b, alpha))); }
OP(InplaceAddRelu, Tensor a, Tensor b, Scalar alpha) { put(a, at::relu(at::add(a, b, alpha))); }
OP(Sub, Tensor a, Tensor b, Scalar alpha, Tensor out) { put(out, at::sub(a, b, alpha)); }
OP(InplaceSub, Tensor a, Tensor b, Scalar alpha) { put(a, at::sub(a, b, alpha)); }
OP(Subs, Tensor a, Scalar b, Scalar alpha, Tensor out) { put(out, at::sub(a, b, alpha)); }
OP(InplaceSubs, Tensor a, Scalar b, Scalar alpha) { put(a, at::sub(a, b, alpha)); }
OP(Rsub, Tensor a, Tensor b, Scalar alpha, Tensor out) { put(out, at::rsub(a, b, alpha)); }
OP(Rsubs, Tensor a, Scalar b, Scalar alpha, Tensor out) { put(out, at::rsub(a, b, alpha)); }

// How DivMod rounds: 0 not at all, 1 towards zero, 2 down.
static const char* rounding(int64_t mode) { return mode == 1 ? "trunc" : "floor"; }
template <class B>
static Tensor divide(const Tensor& a, const B& b, int64_t mode) {
  return mode ? at::div(a, b, rounding(mode)) : at::div(a, b);
}
OP(DivMod, Tensor a, Tensor b, int32_t mode, Tensor out) { put(out, divide(a, b, mode)); }
OP(DivMods, Tensor a, Scalar b, int32_t mode, Tensor out) { put(out, divide(a, b, mode)); }
OP(InplaceDivMod, Tensor a, Tensor b, int32_t mode) { put(a, divide(a, b, mode)); }
OP(InplaceDivMods, Tensor a, Scalar b, int32_t mode) { put(a, divide(a, b, mode)); }

OP(Addcmul, Tensor a, Tensor b, Tensor c, Scalar value, Tensor out) { put(out, at::addcmul(a, b, c, value)); }
OP(InplaceAddcmul, Tensor a, Tensor b, Tensor c, Scalar value) { put(a, at::addcmul(a, b, c, value)); }
OP(Addcdiv, Tensor a, Tensor b, Tensor c, Scalar value, Tensor out) { put(out, at::addcdiv(a, b, c, value)); }
OP(InplaceAddcdiv, Tensor a, Tensor b, Tensor c, Scalar value) { put(a, at::addcdiv(a, b, c, value)); }
OP(Lerp, Tensor a, Tensor b, Tensor weight, Tensor out) { put(out, at::lerp(a, b, weight)); }
OP(InplaceLerp, Tensor a, Tensor b, Tensor weight) { put(a, at::lerp(a, b, weight)); }
OP(Lerps, Tensor a, Tensor b, Scalar weight, Tensor out) { put(out, at::lerp(a, b, weight)); }
OP(InplaceLerps, Tensor a, Tensor b, Scalar weight) { put(a, at::lerp(a, b, weight)); }

OP(Clamp, Tensor a, MaybeScalar low, MaybeScalar high, Tensor out) { put(out, at::clamp(a, low, high)); }
OP(ClampTensor, Tensor a, Tensor low, Tensor high, Tensor out) { put(out, at::clamp(a, maybe(low), maybe(high))); }
WITH_SCALAR(ClampMin, at::clamp_min)
WITH_SCALAR_INPLACE(ClampMax, at::clamp_max)
BINARY_INPLACE(ClampMinTensor, at::clamp_min)
BINARY_INPLACE(ClampMaxTensor, at::clamp_max)
OP(NanToNum, Tensor a, float nan, float high, float low, Tensor out) { put(out, at::nan_to_num(a, nan, high, low)); }
OP(InplaceNanToNum, Tensor a, float nan, float high, float low) { put(a, at::nan_to_num(a, nan, high, low)); }
OP(RoundDecimals, Tensor a, int64_t decimals, Tensor out) { put(out, at::round(a, decimals)); }
OP(InplaceRoundDecimals, Tensor a, int64_t decimals) { put(a, at::round(a, decimals)); }
OP(SWhere, Tensor condition, Tensor a, Tensor b, Tensor out) { put(out, at::where(condition.to(at::kBool), a, b)); }
OP(IsClose, Tensor a, Tensor b, double rtol, double atol, bool equal_nan, Tensor out) { put(out, at::isclose(a, b, rtol, atol, equal_nan)); }
OP(Equal, Tensor a, Tensor b, Tensor out) { out.fill_(at::equal(a, b)); }

OP(InplaceCopy, Tensor a, Tensor b) { a.copy_(a.numel() == b.numel() && a.dim() != b.dim() ? b.reshape(a.sizes()) : b); }
OP(Cast, Tensor a, Dtype type, Tensor out) { out.copy_(a.to(type.type.value_or(out.scalar_type()))); }
OP(InplaceFillScalar, Tensor a, Scalar value) { a.fill_(value); }
OP(InplaceFillTensor, Tensor a, Tensor value) { a.fill_(value.reshape({})); }
OP(InplaceZero, Tensor a) { a.zero_(); }
OP(InplaceOne, Tensor a) { a.fill_(1); }

// Activations. aclnnGelu is the tanh form, whatever was asked of torch (op-plugin's documentation of npu_gelu says so).
OP(Gelu, Tensor a, Tensor out) { put(out, at::gelu(a, "tanh")); }
OP(GeluBackward, Tensor grad, Tensor a, Tensor out) { put(out, at::gelu_backward(grad, a, "tanh")); }
OP(GeluV2, Tensor a, int64_t approximate, Tensor out) { put(out, at::gelu(a, approximate ? "tanh" : "none")); }
OP(GeluBackwardV2, Tensor grad, Tensor a, Text approximate, Tensor out) { put(out, at::gelu_backward(grad, a, approximate)); }
OP(FastGelu, Tensor a, Tensor out) { put(out, a * at::sigmoid(1.702 * a)); }
OP(FastGeluBackward, Tensor grad, Tensor a, Tensor out) {
  auto s = at::sigmoid(1.702 * a);
  put(out, grad * (s + 1.702 * a * s * (1 - s)));
}
OP(Softplus, Tensor a, Scalar beta, Scalar threshold, Tensor out) { put(out, at::softplus(a, beta, threshold)); }
OP(SoftplusBackward, Tensor grad, Tensor a, Scalar beta, Scalar threshold, Tensor out) { put(out, at::softplus_backward(grad, a, beta, threshold)); }
OP(Elu, Tensor a, Scalar alpha, Scalar scale, Scalar input_scale, Tensor out) { put(out, at::elu(a, alpha, scale, input_scale)); }
OP(InplaceElu, Tensor a, Scalar alpha, Scalar scale, Scalar input_scale) { put(a, at::elu(a, alpha, scale, input_scale)); }
OP(EluBackward, Tensor grad, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor a, Tensor out) {
  put(out, at::elu_backward(grad, alpha, scale, input_scale, is_result, a));
}
OP(Celu, Tensor a, Scalar alpha, Tensor out) { put(out, at::celu(a, alpha)); }
OP(InplaceCelu, Tensor a, Scalar alpha) { put(a, at::celu(a, alpha)); }
WITH_SCALAR_INPLACE(LeakyRelu, at::leaky_relu)
OP(LeakyReluBackward, Tensor grad, Tensor a, Scalar slope, bool is_result, Tensor out) { put(out, at::leaky_relu_backward(grad, a, slope, is_result)); }
OP(Hardtanh, Tensor a, Scalar low, Scalar high, Tensor out) { put(out, at::hardtanh(a, low, high)); }
OP(InplaceHardtanh, Tensor a, Scalar low, Scalar high) { put(a, at::hardtanh(a, low, high)); }
OP(HardtanhBackward, Tensor grad, Tensor a, Scalar low, Scalar high, Tensor out) { put(out, at::hardtanh_backward(grad, a, low, high)); }
WITH_SCALAR(Hardshrink, at::hardshrink)
OP(HardshrinkBackward, Tensor grad, Tensor a, Scalar lambda, Tensor out) { put(out, at::hardshrink_backward(grad, a, lambda)); }
WITH_SCALAR(Softshrink, at::softshrink)
OP(SoftshrinkBackward, Tensor grad, Tensor a, Scalar lambda, Tensor out) { put(out, at::softshrink_backward(grad, a, lambda)); }
OP(Threshold, Tensor a, Scalar threshold, Scalar value, Tensor out) { put(out, at::threshold(a, threshold, value)); }
OP(InplaceThreshold, Tensor a, Scalar threshold, Scalar value) { put(a, at::threshold(a, threshold, value)); }
OP(ThresholdBackward, Tensor grad, Tensor a, Scalar threshold, Tensor out) { put(out, at::threshold_backward(grad, a, threshold)); }
BINARY(HardsigmoidBackward, at::hardsigmoid_backward)
BINARY(HardswishBackward, at::hardswish_backward)
BINARY(HardswishBackwardV2, at::hardswish_backward)
BINARY(MishBackward, at::mish_backward)
BINARY(SigmoidBackward, at::sigmoid_backward)
BINARY(SiluBackward, at::silu_backward)
BINARY(TanhBackward, at::tanh_backward)
OP(LogSigmoidForward, Tensor a, Tensor out, Tensor) { put(out, at::log_sigmoid(a)); }
OP(LogSigmoidBackward, Tensor grad, Tensor a, Tensor, Tensor out) { put(out, at::log_sigmoid_backward(grad, a, at::exp(-at::abs(a)))); }
OP(Glu, Tensor a, int64_t dim, Tensor out) { put(out, at::glu(a, dim)); }
OP(GluBackward, Tensor grad, Tensor a, int64_t dim, Tensor out) { put(out, at::glu_backward(grad, a, dim)); }
BINARY(Prelu, at::_prelu_kernel)
OP(PreluBackward, Tensor grad, Tensor a, Tensor weight, Tensor grad_a, Tensor grad_weight) {
  Ints shape(std::max<int64_t>(a.dim(), 1), 1);
  if (weight.numel() > 1) shape[a.dim() > 1 ? 1 : 0] = weight.numel();
  auto [ga, gw] = at::_prelu_kernel_backward(grad, a, weight.reshape(a.dim() ? at::IntArrayRef(shape) : at::IntArrayRef()));
  put(grad_a, ga);
  put(grad_weight, gw.sum_to_size(a.dim() ? at::IntArrayRef(shape) : at::IntArrayRef()).reshape(grad_weight.sizes()));
}
OP(Logit, Tensor a, double eps, Tensor out) { put(out, at::logit(a, eps < 0 ? std::nullopt : std::optional<double>(eps))); }
OP(LogitGrad, Tensor a, Tensor grad, double eps, Tensor out) { put(out, at::logit_backward(grad, a, eps < 0 ? std::nullopt : std::optional<double>(eps))); }
OP(MaskedScale, Tensor a, Tensor mask, double scale, Tensor out) { put(out, a * mask.to(a.scalar_type()) * scale); }

// Gated activations: one half of `dim` gates the other.
OP(SwiGlu, Tensor a, int64_t dim, Tensor out) {
  auto halves = a.chunk(2, dim);
  put(out, (at::silu(halves[0].to(at::kFloat)) * halves[1].to(at::kFloat)).to(out.scalar_type()));
}
OP(SwiGluGrad, Tensor grad, Tensor a, int64_t dim, Tensor out) {
  auto halves = a.to(at::kFloat).chunk(2, dim);
  auto g = grad.to(at::kFloat);
  put(out, at::cat({at::silu_backward(g * halves[1], halves[0]), g * at::silu(halves[0])}, dim).to(out.scalar_type()));
}
OP(GeGluV3, Tensor a, int64_t dim, int64_t approximate, bool activate_left, Tensor out, Tensor gelu) {
  auto halves = a.chunk(2, dim);
  auto activated = at::gelu(halves[activate_left ? 0 : 1], approximate ? "tanh" : "none");
  put(gelu, activated);
  put(out, activated * halves[activate_left ? 1 : 0]);
}
OP(GeGluV3Backward, Tensor grad, Tensor a, Tensor gelu, int64_t dim, int64_t approximate, bool activate_left, Tensor out) {
  auto halves = a.chunk(2, dim);
  auto activated = at::gelu_backward(grad * halves[activate_left ? 1 : 0], halves[activate_left ? 0 : 1], approximate ? "tanh" : "none");
  auto other = grad * gelu;
  put(out, activate_left ? at::cat({activated, other}, dim) : at::cat({other, activated}, dim));
}
OP(GeluMul, Tensor a, Text approximate, Tensor out) {
  auto halves = a.chunk(2, -1);
  put(out, at::gelu(halves[0], approximate) * halves[1]);
}
