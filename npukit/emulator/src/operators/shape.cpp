// Making, joining, cutting and turning tensors.
#include "abi.hpp"

using namespace emulator;

OP(Arange, Scalar start, Scalar end, Scalar step, Tensor out) { put(out, at::arange(start, end, step, out.options())); }
OP(Range, Scalar start, Scalar end, Scalar step, Tensor out) { put(out, at::range(start, end, step, out.options())); }
OP(Linspace, Scalar start, Scalar end, int64_t steps, Tensor out) { put(out, at::linspace(start, end, steps, out.options())); }
OP(LogSpace, Scalar start, Scalar end, int64_t steps, double base, Tensor out) { put(out, at::logspace(start, end, steps, base, out.options())); }
OP(Eye, int64_t n, int64_t m, Tensor out) { put(out, at::eye(n, m, out.options())); }
OP(Triu, Tensor a, int64_t diagonal, Tensor out) { put(out, at::triu(a, diagonal)); }
OP(InplaceTriu, Tensor a, int64_t diagonal) { put(a, at::triu(a, diagonal)); }
OP(Tril, Tensor a, int64_t diagonal, Tensor out) { put(out, at::tril(a, diagonal)); }
OP(InplaceTril, Tensor a, int64_t diagonal) { put(a, at::tril(a, diagonal)); }
OP(Cat, Tensors all, int64_t dim, Tensor out) { put(out, at::cat(all, dim)); }
OP(Stack, Tensors all, int64_t dim, Tensor out) { put(out, at::stack(all, dim)); }
OP(Repeat, Tensor a, Ints repeats, Tensor out) { put(out, a.repeat(repeats)); }
OP(Flip, Tensor a, Ints dims, Tensor out) { put(out, at::flip(a, dims)); }
OP(Roll, Tensor a, Ints shifts, Ints dims, Tensor out) { put(out, at::roll(a, shifts, dims)); }
OP(RepeatInterleave, Tensor a, Tensor repeats, int64_t, Tensor out) { put(out, at::repeat_interleave(a, repeats)); }
OP(RepeatInterleaveInt, Tensor a, int64_t repeats, int64_t, Tensor out) { put(out, at::repeat_interleave(a, repeats)); }
OP(RepeatInterleaveWithDim, Tensor a, Tensor repeats, int64_t dim, int64_t, Tensor out) { put(out, at::repeat_interleave(a, repeats, dim)); }
OP(RepeatInterleaveIntWithDim, Tensor a, int64_t repeats, int64_t dim, int64_t, Tensor out) { put(out, at::repeat_interleave(a, repeats, dim)); }
OP(RepeatInterleaveTensor, Tensor repeats, int64_t, Tensor out) { put(out, at::repeat_interleave(repeats)); }
OP(RepeatInterleaveGrad, Tensor grad, Tensor repeats, int64_t dim, Tensor out) {
  auto rows = at::repeat_interleave(repeats.numel() == 1 ? repeats.expand(out.size(dim)) : repeats);
  put(out, at::zeros(out.sizes(), grad.options()).index_add(dim, rows, grad));
}
OP(SplitWithSize, Tensor a, Ints sizes, int64_t dim, Tensors outs) {
  auto parts = at::split_with_sizes(a, sizes, dim);
  for (size_t i = 0; i < outs.size(); ++i) put(outs[i], parts[i]);
}
OP(ChunkCat, Tensors all, int64_t dim, int64_t chunks, Tensor out) { put(out, at::_chunk_cat(all, dim, chunks).to(out.scalar_type())); }
OP(ConfusionTranspose, Tensor a, Ints perm, Ints shape, bool transpose_first, Tensor out) {
  put(out, transpose_first ? a.permute(perm).reshape(shape) : a.reshape(shape).permute(perm));
}
OP(TransformBiasRescaleQkv, Tensor qkv, Tensor bias, int64_t heads, Tensor q, Tensor k, Tensor v) {
  auto [Q, K, V] = at::_transform_bias_rescale_qkv(qkv, bias, heads);
  put(q, Q);
  put(k, K);
  put(v, V);
}
