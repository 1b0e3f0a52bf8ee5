// Steps of optimizers, in place.
#include "abi.hpp"

using namespace emulator;

OP(ApplyAdamWV2, Tensor parameter, Tensor m, Tensor v, Tensor largest_v, Tensor grad, Tensor step, float lr, float beta1, float beta2, float decay, float eps, bool amsgrad, bool maximize) {
  // The step counter has not been raised yet.
  double t = step.reshape(-1)[0].item<double>() + 1;
  auto g = (maximize ? -grad : grad).to(at::kFloat), p = parameter.to(at::kFloat) * (1 - lr * decay);
  put(m, (m.to(at::kFloat) * beta1 + g * (1 - beta1)).to(m.scalar_type()));
  put(v, (v.to(at::kFloat) * beta2 + g * g * (1 - beta2)).to(v.scalar_type()));
  auto spread = v.to(at::kFloat);
  if (amsgrad) {
    put(largest_v, at::maximum(largest_v, v));
    spread = largest_v.to(at::kFloat);
  }
  auto denominator = (spread / (1 - std::pow(double(beta2), t))).sqrt() + eps;
  put(parameter, (p - lr / (1 - std::pow(double(beta1), t)) * m.to(at::kFloat) / denominator).to(parameter.scalar_type()));
}
OP(AmpUpdateScale, Tensor scale, Tensor tracker, Tensor found, double growth, double backoff, int64_t interval, Tensor out_scale, Tensor out_tracker) {
  auto s = scale.clone(), t = tracker.clone();
  at::_amp_update_scale_(s, t, found, growth, backoff, interval);
  put(out_scale, s);
  put(out_tracker, t);
}
