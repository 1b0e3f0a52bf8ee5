// Convolutions, pooling, padding, resampling and what else moves a window over a picture.
#include "cube.hpp"

using namespace emulator;

Tensor emulator::rounded(const Tensor& a, int8_t cube) {
  if (a.scalar_type() != at::kFloat || cube == 0) return a;
  if (cube == 2) return a.to(at::kHalf).to(at::kFloat);
  constexpr int kDropped = 23 - 11;
  auto bits = a.contiguous().clone().view(at::kInt);
  auto kept = at::bitwise_and(bits + (1 << (kDropped - 1)), ~((1 << kDropped) - 1)).view(at::kFloat);
  return at::where(at::isfinite(a), kept, a);
}

static void put3(const Tensor& a, const Tensor& b, const Tensor& c, const std::tuple<Tensor, Tensor, Tensor>& values) {
  auto [x, y, z] = values;
  if (x.defined() && a.defined() && a.numel()) put(a, x.to(a.scalar_type()));
  if (y.defined() && b.defined() && b.numel()) put(b, y.to(b.scalar_type()));
  if (z.defined() && c.defined() && c.numel()) put(c, z.to(c.scalar_type()));
}

OP(Convolution, Tensor x, Tensor weight, Tensor bias, Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups, Tensor out, int8_t cube) {
  put(out, at::convolution(rounded(x, cube), rounded(weight, cube), maybe(bias), stride, padding, dilation, transposed, output_padding, groups));
}
OP(ConvolutionBackward, Tensor grad, Tensor x, Tensor weight, Ints bias_sizes, Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups,
   Bools mask, int8_t cube, Tensor grad_x, Tensor grad_weight, Tensor grad_bias) {
  put3(grad_x, grad_weight, grad_bias,
       at::convolution_backward(rounded(grad, cube), rounded(x, cube), rounded(weight, cube), at::OptionalIntArrayRef(bias_sizes), stride, padding, dilation, transposed,
                                output_padding, groups, {bool(mask[0]), bool(mask[1]), bool(mask[2])}));
}
OP(ConvDepthwise2d, Tensor x, Tensor weight, Ints, Tensor bias, Ints stride, Ints padding, Ints dilation, Tensor out, int8_t cube) {
  put(out, at::conv2d(rounded(x, cube), rounded(weight, cube), maybe(bias), stride, padding, dilation, x.size(-3)));
}
OP(ConvTbc, Tensor x, Tensor weight, Tensor bias, int64_t pad, Tensor out, int8_t cube) { put(out, at::conv_tbc(rounded(x, cube), rounded(weight, cube), bias, pad)); }
OP(ConvTbcBackward, Tensor grad, Tensor x, Tensor weight, Tensor bias, int64_t pad, int8_t, Tensor grad_x, Tensor grad_weight, Tensor grad_bias) {
  put3(grad_x, grad_weight, grad_bias, at::conv_tbc_backward(grad, x, weight, bias, pad));
}

static std::optional<int64_t> divisor_of(int64_t divisor) { return divisor ? std::optional<int64_t>(divisor) : std::nullopt; }
OP(AvgPool2d, Tensor x, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad, int64_t divisor, int8_t, Tensor out) {
  put(out, at::avg_pool2d(x, kernel, stride, padding, ceil, count_pad, divisor_of(divisor)));
}
OP(AvgPool2dBackward, Tensor grad, Tensor x, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad, int64_t divisor, int8_t, Tensor out) {
  put(out, at::avg_pool2d_backward(grad, x, kernel, stride, padding, ceil, count_pad, divisor_of(divisor)));
}
OP(AvgPool3d, Tensor x, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad, int64_t divisor, Tensor out) {
  put(out, at::avg_pool3d(x, kernel, stride, padding, ceil, count_pad, divisor_of(divisor)));
}
OP(AvgPool3dBackward, Tensor grad, Tensor x, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad, int64_t divisor, Tensor out) {
  put(out, at::avg_pool3d_backward(grad, x, kernel, stride, padding, ceil, count_pad, divisor_of(divisor)));
}
OP(AdaptiveAvgPool2d, Tensor x, Ints size, Tensor out) { put(out, at::_adaptive_avg_pool2d(x, size)); }
OP(AdaptiveAvgPool2dBackward, Tensor grad, Tensor x, Tensor out) { put(out, at::_adaptive_avg_pool2d_backward(grad, x)); }
OP(AdaptiveAvgPool3d, Tensor x, Ints size, Tensor out) { put(out, at::_adaptive_avg_pool3d(x, size)); }
OP(AdaptiveAvgPool3dBackward, Tensor grad, Tensor x, Tensor out) { put(out, at::_adaptive_avg_pool3d_backward(grad, x)); }
static void put2(const Tensor& a, const Tensor& b, const std::tuple<Tensor, Tensor>& values) {
  put(a, std::get<0>(values));
  if (b.defined()) const_cast<Tensor&>(b).copy_(std::get<1>(values));  // indices: int32 on the card, int64 in ATen
}
OP(AdaptiveMaxPool2d, Tensor x, Ints size, Tensor out, Tensor indices) { put2(out, indices, at::adaptive_max_pool2d(x, size)); }
OP(AdaptiveMaxPool2dBackward, Tensor grad, Tensor x, Tensor indices, Tensor out) { put(out, at::adaptive_max_pool2d_backward(grad, x, indices.to(at::kLong))); }
OP(AdaptiveMaxPool3d, Tensor x, Ints size, Tensor out, Tensor indices) { put2(out, indices, at::adaptive_max_pool3d(x, size)); }
OP(AdaptiveMaxPool3dBackward, Tensor grad, Tensor x, Tensor indices, Tensor out) { put(out, at::adaptive_max_pool3d_backward(grad, x, indices.to(at::kLong))); }
OP(MaxPool2dWithIndices, Tensor x, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, Tensor out, Tensor indices) {
  put2(out, indices, at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil));
}
OP(MaxPool2dWithIndicesBackward, Tensor grad, Tensor x, Tensor indices, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, Tensor out) {
  put(out, at::max_pool2d_with_indices_backward(grad, x, kernel, stride, padding, dilation, ceil, indices.to(at::kLong)));
}
// The mask form keeps bits that only its own backward reads: that one finds the maxima again.
OP(MaxPool2dWithMask, Tensor x, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, Tensor out, Tensor) {
  put(out, at::max_pool2d(x, kernel, stride, padding, dilation, ceil));
}
OP(MaxPool2dWithMaskBackward, Tensor grad, Tensor x, Tensor, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, Tensor out) {
  auto [value, indices] = at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil);
  put(out, at::max_pool2d_with_indices_backward(grad, x, kernel, stride, padding, dilation, ceil, indices));
}
OP(MaxPool3dWithArgmax, Tensor x, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, Tensor out, Tensor indices) {
  put2(out, indices, at::max_pool3d_with_indices(x, kernel, stride, padding, dilation, ceil));
}
OP(MaxPool3dWithArgmaxBackward, Tensor grad, Tensor x, Tensor indices, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, Tensor out) {
  put(out, at::max_pool3d_with_indices_backward(grad, x, kernel, stride, padding, dilation, ceil, indices.to(at::kLong)));
}
OP(MaxUnpool2d, Tensor x, Tensor indices, Ints size, Tensor out) { put(out, at::max_unpool2d(x, indices.to(at::kLong), size)); }
OP(MaxUnpool3d, Tensor x, Tensor indices, Ints size, Ints stride, Ints padding, Tensor out) { put(out, at::max_unpool3d(x, indices.to(at::kLong), size, stride, padding)); }

OP(ConstantPadNd, Tensor a, Ints padding, Scalar value, Tensor out) { put(out, at::constant_pad_nd(a, padding, value)); }
#define PAD(name, f)                                                             \
  OP(name, Tensor a, Ints padding, Tensor out) { put(out, at::f(a, padding)); } \
  OP(name##Backward, Tensor grad, Tensor a, Ints padding, Tensor out) { put(out, at::f##_backward(grad, a, padding)); }
PAD(ReflectionPad1d, reflection_pad1d)
PAD(ReflectionPad2d, reflection_pad2d)
PAD(ReflectionPad3d, reflection_pad3d)
PAD(ReplicationPad1d, replication_pad1d)
PAD(ReplicationPad2d, replication_pad2d)
PAD(ReplicationPad3d, replication_pad3d)
OP(Im2col, Tensor a, Ints kernel, Ints dilation, Ints padding, Ints stride, Tensor out) { put(out, at::im2col(a, kernel, dilation, padding, stride)); }
OP(Im2colBackward, Tensor a, Ints size, Ints kernel, Ints dilation, Ints padding, Ints stride, Tensor out) { put(out, at::col2im(a, size, kernel, dilation, padding, stride)); }
OP(UnfoldGrad, Tensor grad, Ints sizes, int64_t dim, int64_t size, int64_t step, Tensor out) { put(out, at::unfold_backward(grad, sizes, dim, size, step)); }
OP(ChannelShuffle, Tensor a, int64_t groups, Tensor out) { put(out, at::channel_shuffle(a, groups)); }

// A scale of 0 or less means that none was given: the sizes tell.
static std::optional<double> scale_of(double scale) { return scale > 0 ? std::optional<double>(scale) : std::nullopt; }
OP(UpsampleNearest1d, Tensor x, Ints size, Tensor out) { put(out, at::upsample_nearest1d(x, size)); }
OP(UpsampleNearest1dV2, Tensor x, Ints size, float scale, Tensor out) { put(out, at::upsample_nearest1d(x, size, scale_of(scale))); }
OP(UpsampleNearest1dBackward, Tensor grad, Ints size, Ints input, double scale, Tensor out) { put(out, at::upsample_nearest1d_backward(grad, size, input, scale_of(scale))); }
OP(UpsampleNearest2d, Tensor x, Ints size, Tensor out) { put(out, at::upsample_nearest2d(x, size)); }
OP(UpsampleNearest2dV2, Tensor x, Ints size, float sh, float sw, Tensor out) { put(out, at::upsample_nearest2d(x, size, scale_of(sh), scale_of(sw))); }
OP(UpsampleNearest2dBackward, Tensor grad, Ints size, Ints input, double sh, double sw, Tensor out) {
  put(out, at::upsample_nearest2d_backward(grad, size, input, scale_of(sh), scale_of(sw)));
}
OP(UpsampleNearest3d, Tensor x, Ints size, double sd, double sh, double sw, Tensor out) { put(out, at::upsample_nearest3d(x, size, scale_of(sd), scale_of(sh), scale_of(sw))); }
OP(UpsampleNearest3dBackward, Tensor grad, Ints size, Ints input, double sd, double sh, double sw, Tensor out) {
  put(out, at::upsample_nearest3d_backward(grad, size, input, scale_of(sd), scale_of(sh), scale_of(sw)));
}
OP(UpsampleNearestExact1d, Tensor x, Ints size, double scale, Tensor out) { put(out, at::_upsample_nearest_exact1d(x, size, scale_of(scale))); }
OP(UpsampleNearestExact1dBackward, Tensor grad, Ints size, Ints input, double scale, Tensor out) { put(out, at::_upsample_nearest_exact1d_backward(grad, size, input, scale_of(scale))); }
OP(UpsampleNearestExact2d, Tensor x, Ints size, double sh, double sw, Tensor out) { put(out, at::_upsample_nearest_exact2d(x, size, scale_of(sh), scale_of(sw))); }
OP(UpsampleNearestExact2dBackward, Tensor grad, Ints size, Ints input, double sh, double sw, Tensor out) {
  put(out, at::_upsample_nearest_exact2d_backward(grad, size, input, scale_of(sh), scale_of(sw)));
}
OP(UpsampleNearestExact3d, Tensor x, Ints size, double sd, double sh, double sw, Tensor out) { put(out, at::_upsample_nearest_exact3d(x, size, scale_of(sd), scale_of(sh), scale_of(sw))); }
OP(UpsampleNearestExact3dBackward, Tensor grad, Ints size, Ints input, double sd, double sh, double sw, Tensor out) {
  put(out, at::_upsample_nearest_exact3d_backward(grad, size, input, scale_of(sd), scale_of(sh), scale_of(sw)));
}
OP(UpsampleLinear1d, Tensor x, Ints size, bool corners, double scale, Tensor out) { put(out, at::upsample_linear1d(x, size, corners, scale_of(scale))); }
OP(UpsampleLinear1dBackward, Tensor grad, Ints size, Ints input, bool corners, double scale, Tensor out) {
  put(out, at::upsample_linear1d_backward(grad, size, input, corners, scale_of(scale)));
}
OP(UpsampleTrilinear3d, Tensor x, Ints size, bool corners, double sd, double sh, double sw, Tensor out) {
  put(out, at::upsample_trilinear3d(x, size, corners, scale_of(sd), scale_of(sh), scale_of(sw)));
}
OP(UpsampleTrilinear3dBackward, Tensor grad, Ints size, Ints input, bool corners, double sd, double sh, double sw, Tensor out) {
  put(out, at::upsample_trilinear3d_backward(grad, size, input, corners, scale_of(sd), scale_of(sh), scale_of(sw)));
}
#define UPSAMPLE_2D(name, backward_name, f)                                                                                                       \
  OP(name, Tensor x, Ints size, bool corners, double sh, double sw, Tensor out) { put(out, at::f(x, size, corners, scale_of(sh), scale_of(sw))); } \
  OP(backward_name, Tensor grad, Ints size, Ints input, bool corners, double sh, double sw, Tensor out) {                                         \
    put(out, at::f##_backward(grad, size, input, corners, scale_of(sh), scale_of(sw)));                                                           \
  }
UPSAMPLE_2D(UpsampleBilinear2d, UpsampleBilinear2dBackward, upsample_bilinear2d)
UPSAMPLE_2D(UpsampleBilinear2dAA, UpsampleBilinear2dAABackward, _upsample_bilinear2d_aa)
UPSAMPLE_2D(UpsampleBicubic2d, UpsampleBicubic2dBackward, upsample_bicubic2d)
UPSAMPLE_2D(UpsampleBicubic2dAA, UpsampleBicubic2dAAGrad, _upsample_bicubic2d_aa)
OP(UpsampleBilinear2dBackwardV2, Tensor grad, Ints size, Ints input, bool corners, double sh, double sw, Tensor out) {
  put(out, at::upsample_bilinear2d_backward(grad, size, input, corners, scale_of(sh), scale_of(sw)));
}

OP(AffineGrid, Tensor theta, Ints size, bool corners, Tensor out) { put(out, at::affine_grid_generator(theta, size, corners)); }
OP(GridSampler2D, Tensor x, Tensor grid, int64_t mode, int64_t padding, bool corners, Tensor out) { put(out, at::grid_sampler_2d(x, grid, mode, padding, corners)); }
OP(GridSampler3D, Tensor x, Tensor grid, int64_t mode, int64_t padding, bool corners, Tensor out) { put(out, at::grid_sampler_3d(x, grid, mode, padding, corners)); }
OP(GridSampler2DBackward, Tensor grad, Tensor x, Tensor grid, int64_t mode, int64_t padding, bool corners, Bools mask, Tensor grad_x, Tensor grad_grid) {
  auto [gx, gg] = at::grid_sampler_2d_backward(grad, x, grid, mode, padding, corners, {bool(mask[0]), bool(mask[1])});
  if (gx.defined()) put(grad_x, gx);
  put(grad_grid, gg);
}
OP(GridSampler3DBackward, Tensor grad, Tensor x, Tensor grid, int64_t mode, int64_t padding, bool corners, Bools mask, Tensor grad_x, Tensor grad_grid) {
  auto [gx, gg] = at::grid_sampler_3d_backward(grad, x, grid, mode, padding, corners, {bool(mask[0]), bool(mask[1])});
  if (gx.defined()) put(grad_x, gx);
  put(grad_grid, gg);
}
