// Losses and their gradients. Reductions: 0 none, 1 mean, 2 sum, as in ATen.
#include "abi.hpp"

using namespace emulator;

#define LOSS(name, f)                                                                                             \
  OP(name, Tensor a, Tensor target, int64_t reduction, Tensor out) { put(out, at::f(a, target, reduction)); }
#define LOSS_BACKWARD(name, f) \
  OP(name, Tensor grad, Tensor a, Tensor target, int64_t reduction, Tensor out) { put(out, at::f(grad, a, target, reduction)); }
LOSS(L1Loss, l1_loss)
LOSS(MseLoss, mse_loss)
LOSS_BACKWARD(MseLossBackward, mse_loss_backward)
LOSS(SoftMarginLoss, soft_margin_loss)
LOSS_BACKWARD(SoftMarginLossBackward, soft_margin_loss_backward)
OP(L1LossBackward, Tensor grad, Tensor a, Tensor target, int64_t reduction, Tensor out) {
  auto g = grad * at::sign(a - target);
  put(out, reduction == 1 ? g / a.numel() : g);
}
OP(SmoothL1Loss, Tensor a, Tensor target, int64_t reduction, float beta, Tensor out) { put(out, at::smooth_l1_loss(a, target, reduction, beta)); }
OP(SmoothL1LossBackward, Tensor grad, Tensor a, Tensor target, int64_t reduction, float beta, Tensor out) { put(out, at::smooth_l1_loss_backward(grad, a, target, reduction, beta)); }
OP(NLLLoss, Tensor a, Tensor target, Tensor weight, int64_t reduction, int64_t ignored, Tensor out, Tensor total) {
  auto [loss, weight_sum] = at::nll_loss_forward(a, target, maybe(weight), reduction, ignored);
  put(out, loss);
  put(total, weight_sum);
}
OP(NLLLossBackward, Tensor grad, Tensor a, Tensor target, Tensor weight, int64_t reduction, int64_t ignored, Tensor total, Tensor out) {
  put(out, at::nll_loss_backward(grad, a, target, maybe(weight), reduction, ignored, total));
}
OP(NLLLoss2d, Tensor a, Tensor target, Tensor weight, int64_t reduction, int64_t ignored, Tensor out, Tensor total) {
  auto [loss, weight_sum] = at::nll_loss2d_forward(a, target, maybe(weight), reduction, ignored);
  put(out, loss);
  put(total, weight_sum);
}
OP(NLLLoss2dBackward, Tensor grad, Tensor a, Tensor target, Tensor weight, int64_t reduction, int64_t ignored, Tensor total, Tensor out) {
  put(out, at::nll_loss2d_backward(grad, a, target, maybe(weight), reduction, ignored, total));
}
OP(BinaryCrossEntropy, Tensor a, Tensor target, Tensor weight, int64_t reduction, Tensor out) { put(out, at::binary_cross_entropy(a, target, maybe(weight), reduction)); }
OP(BinaryCrossEntropyBackward, Tensor grad, Tensor a, Tensor target, Tensor weight, int64_t reduction, Tensor out) {
  put(out, at::binary_cross_entropy_backward(grad, a, target, maybe(weight), reduction));
}
OP(BinaryCrossEntropyWithLogits, Tensor a, Tensor target, Tensor weight, Tensor positive, int64_t reduction, Tensor out) {
  put(out, at::binary_cross_entropy_with_logits(a, target, maybe(weight), maybe(positive), reduction));
}
OP(BinaryCrossEntropyWithLogitsBackward, Tensor grad, Tensor a, Tensor target, Tensor weight, Tensor positive, int64_t reduction, Tensor out) {
  auto p = positive.defined() ? positive : at::ones({}, a.options());
  auto g = ((p * target + 1 - target) * at::sigmoid(a) - p * target) * grad;
  if (weight.defined()) g = g * weight;
  put(out, reduction == 1 ? g / a.numel() : g);
}
OP(KlDiv, Tensor a, Tensor target, int64_t reduction, bool log_target, Tensor out) { put(out, at::kl_div(a, target, reduction, log_target)); }
OP(KlDivBackward, Tensor grad, Tensor a, Tensor target, int64_t reduction, bool log_target, Tensor out) {
  auto g = log_target ? -at::exp(target) * grad : at::where(target > 0, -target * grad, at::zeros({}, a.options()));
  put(out, reduction == 1 ? g / a.numel() : g);
}
OP(KlDivTargetBackward, Tensor grad, Tensor a, Tensor target, int64_t reduction, bool log_target, Tensor out) {
  auto g = log_target ? grad * at::exp(target) * (target + 1 - a) : at::where(target > 0, grad * (at::log(target) + 1 - a), at::zeros({}, a.options()));
  put(out, reduction == 1 ? g / a.numel() : g);
}
OP(MultilabelMarginLoss, Tensor a, Tensor target, int64_t reduction, Tensor out, Tensor is_target) {
  auto [loss, hit] = at::multilabel_margin_loss_forward(a, target, reduction);
  put(out, loss);
  is_target.copy_(hit);
}
OP(CtcLoss, Tensor log_probs, Tensor targets, Ints input_lengths, Ints target_lengths, int64_t blank, bool zero_infinity, Tensor loss, Tensor alpha) {
  auto [l, a] = at::_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity);
  put(loss, l);
  // The card's buffer is wider; what is beyond ATen's part is never read by a correct caller.
  auto part = alpha;
  for (int64_t d = 0; d < alpha.dim(); ++d) part = part.narrow(d, 0, a.size(d));
  part.copy_(a);
}
OP(CtcLossBackward, Tensor grad, Tensor log_probs, Tensor targets, Ints input_lengths, Ints target_lengths, Tensor loss, Tensor alpha, int64_t blank, bool zero_infinity, Tensor out) {
  put(out, at::_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, loss, alpha, blank, zero_infinity));
}
