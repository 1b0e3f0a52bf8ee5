// Softmax and the normalisations, plain and fused, with their gradients.
#include "abi.hpp"

using namespace emulator;

static void put3(const Tensor& a, const Tensor& b, const Tensor& c, const std::tuple<Tensor, Tensor, Tensor>& values) {
  auto [x, y, z] = values;
  if (x.defined() && a.defined()) put(a, x.to(a.scalar_type()));
  if (y.defined() && b.defined() && y.numel() == b.numel()) put(b, y.to(b.scalar_type()).reshape(b.sizes()));
  if (z.defined() && c.defined() && z.numel() == c.numel()) put(c, z.to(c.scalar_type()).reshape(c.sizes()));
}

OP(Softmax, Tensor a, int64_t dim, Tensor out) { put(out, at::softmax(a, dim, out.scalar_type())); }
OP(SoftmaxBackward, Tensor grad, Tensor y, int64_t dim, Tensor out) { put(out, at::_softmax_backward_data(grad, y, dim, out.scalar_type())); }
OP(LogSoftmax, Tensor a, int64_t dim, Tensor out) { put(out, at::log_softmax(a, dim, out.scalar_type())); }
OP(LogSoftmaxBackward, Tensor grad, Tensor y, int64_t dim, Tensor out) { put(out, at::_log_softmax_backward_data(grad, y, dim, out.scalar_type())); }
// mask: true drops. fixed_triu_mask asks for a causal mask instead of the given one.
OP(ScaledMaskedSoftmax, Tensor a, Tensor mask, double scale, bool causal, Tensor out) {
  auto scores = a.to(at::kFloat) * scale;
  auto dropped = causal ? at::ones({a.size(-2), a.size(-1)}, at::kBool).triu(1) : mask.to(at::kBool);
  put(out, at::softmax(scores.masked_fill(dropped, -10000.0), -1).to(out.scalar_type()));
}
OP(ScaledMaskedSoftmaxBackward, Tensor grad, Tensor y, Tensor mask, double scale, bool causal, Tensor out) {
  auto dropped = causal ? at::ones({y.size(-2), y.size(-1)}, at::kBool).triu(1) : mask.to(at::kBool);
  auto g = at::_softmax_backward_data(grad.to(at::kFloat), y.to(at::kFloat), -1, at::kFloat);
  put(out, (g * scale).masked_fill(dropped, 0).to(out.scalar_type()));
}

static void layer_norm(const Tensor& a, const Ints& shape, const Tensor& weight, const Tensor& bias, double eps, const Tensor& out, const Tensor& mean, const Tensor& rstd) {
  put3(out, mean, rstd, at::native_layer_norm(a, shape, maybe(weight), maybe(bias), eps));
}
OP(LayerNorm, Tensor a, Ints shape, Tensor weight, Tensor bias, double eps, Tensor out, Tensor mean, Tensor rstd) { layer_norm(a, shape, weight, bias, eps, out, mean, rstd); }
OP(FastLayerNorm, Tensor a, Ints shape, Tensor weight, Tensor bias, double eps, Tensor out, Tensor mean, Tensor rstd) { layer_norm(a, shape, weight, bias, eps, out, mean, rstd); }
OP(LayerNormBackward, Tensor grad, Tensor a, Ints shape, Tensor mean, Tensor rstd, Tensor weight, Tensor bias, Bools mask, Tensor grad_a, Tensor grad_weight, Tensor grad_bias) {
  put3(grad_a, grad_weight, grad_bias,
       at::native_layer_norm_backward(grad, a, shape, mean.to(at::kFloat), rstd.to(at::kFloat), maybe(weight), maybe(bias), {bool(mask[0]), bool(mask[1]), bool(mask[2])}));
}
OP(AddLayerNorm, Tensor a, Tensor b, Tensor gamma, Tensor beta, Tensor bias, double eps, bool with_sum, Tensor out, Tensor mean, Tensor rstd, Tensor sum) {
  auto x = a.to(at::kFloat) + b.to(at::kFloat);
  if (bias.defined()) x = x + bias.to(at::kFloat);
  if (with_sum) put(sum, x.to(sum.scalar_type()));
  auto w = gamma.to(at::kFloat), c = beta.to(at::kFloat);
  put3(out, mean, rstd, at::native_layer_norm(x, gamma.sizes(), w, c, eps));
}
OP(GroupNorm, Tensor a, Tensor weight, Tensor bias, int64_t n, int64_t channels, int64_t area, int64_t groups, double eps, Tensor out, Tensor mean, Tensor rstd) {
  put3(out, mean, rstd, at::native_group_norm(a, maybe(weight), maybe(bias), n, channels, area, groups, eps));
}
OP(GroupNormBackward, Tensor grad, Tensor a, Tensor mean, Tensor rstd, Tensor gamma, int64_t n, int64_t channels, int64_t area, int64_t groups, Bools mask, Tensor grad_a, Tensor grad_gamma,
   Tensor grad_beta) {
  put3(grad_a, grad_gamma, grad_beta,
       at::native_group_norm_backward(grad, a, mean, rstd, maybe(gamma), n, channels, area, groups, {bool(mask[0]), bool(mask[1]), bool(mask[2])}));
}
static std::tuple<Tensor, Tensor, Tensor> group_norm(const Tensor& a, const Tensor& weight, const Tensor& bias, int64_t groups, double eps) {
  int64_t n = a.size(0), channels = a.size(1);
  return at::native_group_norm(a.contiguous(), maybe(weight), maybe(bias), n, channels, a.numel() / std::max<int64_t>(n * channels, 1), groups, eps);
}
OP(GroupNormSilu, Tensor a, Tensor weight, Tensor bias, int64_t groups, double eps, Tensor out, Tensor mean, Tensor rstd) {
  auto [y, m, r] = group_norm(a, weight, bias, groups, eps);
  put3(out, mean, rstd, {at::silu(y), m, r});
}
OP(GroupNormSwish, Tensor a, Tensor weight, Tensor bias, int64_t groups, Text, double eps, bool activate, double scale, Tensor out, Tensor mean, Tensor rstd) {
  auto [y, m, r] = group_norm(a, weight, bias, groups, eps);
  put3(out, mean, rstd, {activate ? y * at::sigmoid(y * scale) : y, m, r});
}

static Tensor per_channel(const Tensor& values, const Tensor& like) {
  Ints shape(like.dim(), 1);
  shape[1] = values.numel();
  return values.view(shape);
}
static Ints but_channels(const Tensor& a) {
  Ints dims;
  for (int64_t i = 0; i < a.dim(); ++i)
    if (i != 1) dims.push_back(i);
  return dims;
}
OP(BatchNorm, Tensor a, Tensor weight, Tensor bias, Tensor running_mean, Tensor running_var, bool training, double momentum, double eps, Tensor out, Tensor mean, Tensor rstd) {
  put3(out, mean, rstd, at::native_batch_norm(a, maybe(weight), maybe(bias), maybe(running_mean), maybe(running_var), training, momentum, eps));
}
OP(BatchNormBackward, Tensor grad, Tensor a, Tensor weight, Tensor running_mean, Tensor running_var, Tensor mean, Tensor rstd, bool training, double eps, Bools mask, Tensor grad_a, Tensor grad_weight,
   Tensor grad_bias) {
  put3(grad_a, grad_weight, grad_bias,
       at::native_batch_norm_backward(grad, a, maybe(weight), maybe(running_mean), maybe(running_var), maybe(mean), maybe(rstd), training, eps, {bool(mask[0]), bool(mask[1]), bool(mask[2])}));
}
OP(BatchNormElemt, Tensor a, Tensor weight, Tensor bias, Tensor mean, Tensor rstd, double, Tensor out) {
  auto y = (a.to(at::kFloat) - per_channel(mean, a)) * per_channel(rstd, a);
  if (weight.defined()) y = y * per_channel(weight, a);
  if (bias.defined()) y = y + per_channel(bias, a);
  put(out, y.to(out.scalar_type()));
}
OP(BatchNormStats, Tensor a, double eps, Tensor mean, Tensor rstd) {
  auto [variance, m] = at::var_mean(a.to(at::kFloat), at::OptionalIntArrayRef(but_channels(a)), Scalar(0), false);
  put(mean, m);
  put(rstd, at::rsqrt(variance + eps));
}
OP(BatchNormReduce, Tensor a, Tensor sum, Tensor squares) {
  auto x = a.to(at::kFloat);
  put(sum, x.sum(but_channels(a)));
  put(squares, (x * x).sum(but_channels(a)));
}

// RMS norms. rstd keeps the normalised dimensions as ones; sums are made in fp32, as the card's kernels do.
static Tensor rms_scale(const Tensor& x, int64_t normalised, double eps) {
  Ints dims;
  for (int64_t i = x.dim() - normalised; i < x.dim(); ++i) dims.push_back(i);
  return at::rsqrt((x * x).mean(dims, true) + eps);
}
static void rms_norm(const Tensor& x, const Tensor& weight, double eps, const Tensor& out, const Tensor& rstd) {
  auto scale = rms_scale(x, weight.dim(), eps);
  put(out, (x * scale * weight.to(at::kFloat)).to(out.scalar_type()));
  if (rstd.defined()) put(rstd, scale);
}
OP(RmsNorm, Tensor a, Tensor gamma, double eps, Tensor out, Tensor rstd) { rms_norm(a.to(at::kFloat), gamma, eps, out, rstd); }
OP(GemmaRmsNorm, Tensor a, Tensor gamma, double eps, Tensor out, Tensor rstd) { rms_norm(a.to(at::kFloat), gamma.to(at::kFloat) + 1, eps, out, rstd); }
OP(AddRmsNorm, Tensor a, Tensor b, Tensor gamma, double eps, Tensor out, Tensor rstd, Tensor sum) {
  auto x = a.to(at::kFloat) + b.to(at::kFloat);
  put(sum, x.to(sum.scalar_type()));
  rms_norm(x, gamma, eps, out, rstd);
}
OP(InplaceAddRmsNorm, Tensor a, Tensor b, Tensor gamma, double eps, Tensor rstd) {
  auto x = a.to(at::kFloat) + b.to(at::kFloat);
  put(b, x.to(b.scalar_type()));
  rms_norm(x, gamma, eps, a, rstd);
}
OP(AddRmsNormCast, Tensor a, Tensor b, Tensor gamma, double eps, Tensor out32, Tensor out, Tensor rstd, Tensor sum) {
  auto x = a.to(at::kFloat) + b.to(at::kFloat);
  put(sum, x.to(sum.scalar_type()));
  rms_norm(x, gamma, eps, out, rstd);
  put(out32, out.to(at::kFloat));
}
OP(RmsNormGrad, Tensor grad, Tensor a, Tensor rstd, Tensor gamma, Tensor grad_a, Tensor grad_gamma) {
  auto x = a.to(at::kFloat), g = grad.to(at::kFloat), normal = x * rstd;
  Ints last, first;
  for (int64_t i = 0; i < x.dim(); ++i) (i < x.dim() - gamma.dim() ? first : last).push_back(i);
  auto gw = g * gamma.to(at::kFloat);
  put(grad_a, (rstd * (gw - normal * (gw * normal).mean(last, true))).to(grad_a.scalar_type()));
  put(grad_gamma, (first.empty() ? g * normal : (g * normal).sum(first)).to(grad_gamma.scalar_type()));
}
OP(DeepNorm, Tensor x, Tensor gx, Tensor beta, Tensor gamma, double alpha, double eps, Tensor mean, Tensor rstd, Tensor out) {
  auto sum = x.to(at::kFloat) * alpha + gx.to(at::kFloat);
  auto w = gamma.to(at::kFloat), b = beta.to(at::kFloat);
  put3(out, mean, rstd, at::native_layer_norm(sum, gamma.sizes(), w, b, eps));
}
