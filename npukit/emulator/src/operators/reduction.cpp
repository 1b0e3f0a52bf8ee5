// Many values in, few out: sums, extremes, norms, statistics, orders.
#include "abi.hpp"

using namespace emulator;

// An empty list of dimensions means all of them.
static at::OptionalIntArrayRef dims_of(const Ints& dims) { return dims.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims); }
static Ints all_dims(const Tensor& a, const Ints& dims) {
  if (!dims.empty()) return dims;
  Ints every(a.dim());
  for (int64_t i = 0; i < a.dim(); ++i) every[i] = i;
  return every;
}
static void put_pair(const Tensor& first, const Tensor& second, const std::tuple<Tensor, Tensor>& values) {
  put(first, std::get<0>(values));
  put(second, std::get<1>(values));
}

OP(ReduceSum, Tensor a, Ints dims, bool keep, Dtype, Tensor out) { put(out, at::sum(a, dims_of(dims), keep, out.scalar_type())); }
OP(ReduceNansum, Tensor a, Ints dims, bool keep, Dtype, Tensor out) { put(out, at::nansum(a, dims_of(dims), keep, out.scalar_type())); }
OP(Mean, Tensor a, Ints dims, bool keep, Dtype, Tensor out) { put(out, at::mean(a, dims_of(dims), keep, out.scalar_type())); }
OP(Prod, Tensor a, Dtype, Tensor out) { put(out, at::prod(a, out.scalar_type())); }
OP(ProdDim, Tensor a, int64_t dim, bool keep, Dtype, Tensor out) { put(out, at::prod(a, dim, keep, out.scalar_type())); }
OP(All, Tensor a, Ints dims, bool keep, Tensor out) { put(out, at::all(a, dims_of(all_dims(a, dims)), keep)); }
OP(Any, Tensor a, Ints dims, bool keep, Tensor out) { put(out, at::any(a, dims_of(all_dims(a, dims)), keep)); }
OP(Amax, Tensor a, Ints dims, bool keep, Tensor out) { put(out, at::amax(a, dims, keep)); }
OP(Amin, Tensor a, Ints dims, bool keep, Tensor out) { put(out, at::amin(a, dims, keep)); }
OP(Aminmax, Tensor a, Ints dims, bool keep, Tensor low, Tensor high) {
  put(low, at::amin(a, dims, keep));
  put(high, at::amax(a, dims, keep));
}
OP(AminmaxAll, Tensor a, Tensor low, Tensor high) { put_pair(low, high, at::aminmax(a)); }
OP(AminmaxDim, Tensor a, int64_t dim, bool keep, Tensor low, Tensor high) { put_pair(low, high, at::aminmax(a, dim, keep)); }
OP(Max, Tensor a, Tensor out) { put(out, at::max(a)); }
OP(Min, Tensor a, Tensor out) { put(out, at::min(a)); }
OP(MaxDim, Tensor a, int64_t dim, bool keep, Tensor values, Tensor indices) { put_pair(values, indices, at::max(a, dim, keep)); }
OP(MinDim, Tensor a, int64_t dim, bool keep, Tensor values, Tensor indices) { put_pair(values, indices, at::min(a, dim, keep)); }
OP(ArgMax, Tensor a, int64_t dim, bool keep, Tensor out) { put(out, at::argmax(a, dim, keep)); }
OP(ArgMin, Tensor a, int64_t dim, bool keep, Tensor out) { put(out, at::argmin(a, dim, keep)); }
OP(Median, Tensor a, Tensor out) { put(out, at::median(a)); }
OP(MedianDim, Tensor a, int64_t dim, bool keep, Tensor values, Tensor indices) { put_pair(values, indices, at::median(a, dim, keep)); }
OP(NanMedian, Tensor a, Tensor out) { put(out, at::nanmedian(a)); }
OP(NanMedianDim, Tensor a, int64_t dim, bool keep, Tensor values, Tensor indices) { put_pair(values, indices, at::nanmedian(a, dim, keep)); }
OP(Kthvalue, Tensor a, int64_t k, int64_t dim, bool keep, Tensor values, Tensor indices) { put_pair(values, indices, at::kthvalue(a, k, dim, keep)); }
OP(Sort, Tensor a, bool stable, int64_t dim, bool descending, Tensor values, Tensor indices) { put_pair(values, indices, at::sort(a, stable, dim, descending)); }
OP(Topk, Tensor a, int64_t k, int64_t dim, bool largest, bool sorted, Tensor values, Tensor indices) {
  put_pair(values, indices, at::topk(a, k, dim, largest, sorted));
}

OP(Cumsum, Tensor a, int64_t dim, Dtype, Tensor out) { put(out, at::cumsum(a, dim, out.scalar_type())); }
OP(Cumprod, Tensor a, Scalar dim, Dtype, Tensor out) { put(out, at::cumprod(a, dim.toLong(), out.scalar_type())); }
OP(Cummax, Tensor a, int64_t dim, Tensor values, Tensor indices) { put_pair(values, indices, at::cummax(a, dim)); }
OP(Cummin, Tensor a, int64_t dim, Tensor values, Tensor indices) { put_pair(values, indices, at::cummin(a, dim)); }
OP(LogSumExp, Tensor a, Ints dims, bool keep, Tensor out) { put(out, at::logsumexp(a, dims, keep)); }

OP(VarCorrection, Tensor a, Ints dims, int64_t correction, bool keep, Tensor out) { put(out, at::var(a, dims_of(dims), Scalar(correction), keep)); }
OP(VarMean, Tensor a, Ints dims, int64_t correction, bool keep, Tensor variance, Tensor mean) {
  put_pair(variance, mean, at::var_mean(a, dims_of(dims), Scalar(correction), keep));
}
OP(Std, Tensor a, Ints dims, int64_t correction, bool keep, Tensor out) { put(out, at::std(a, dims_of(dims), Scalar(correction), keep)); }
OP(StdMeanCorrection, Tensor a, Ints dims, int64_t correction, bool keep, Tensor deviation, Tensor mean) {
  put_pair(deviation, mean, at::std_mean(a, dims_of(dims), Scalar(correction), keep));
}
OP(LinalgVectorNorm, Tensor a, Scalar order, Ints dims, bool keep, Dtype, Tensor out) {
  put(out, at::linalg_vector_norm(a, order, dims_of(dims), keep, at::isComplexType(a.scalar_type()) ? std::nullopt : std::optional(out.scalar_type())));
}
OP(Norm, Tensor a, Scalar p, Ints dims, bool keep, Tensor out) { put(out, at::linalg_vector_norm(a, p, dims_of(dims), keep, at::isComplexType(a.scalar_type()) ? std::nullopt : std::optional(out.scalar_type()))); }
OP(Renorm, Tensor a, Scalar p, int64_t dim, Scalar most, Tensor out) { put(out, at::renorm(a, p, dim, most)); }
OP(InplaceRenorm, Tensor a, Scalar p, int64_t dim, Scalar most) { put(a, at::renorm(a, p, dim, most)); }
OP(Histc, Tensor a, int64_t bins, Scalar low, Scalar high, Tensor out) { put(out, at::histc(a.to(at::kFloat), bins, low, high).to(out.scalar_type())); }
OP(Bincount, Tensor a, Tensor weight, int64_t least, Tensor out) { put(out, at::bincount(a, maybe(weight), std::max(least, out.numel()))); }
OP(Trace, Tensor a, Tensor out) { put(out, at::trace(a)); }

OP(Cdist, Tensor a, Tensor b, float p, int64_t mode, Tensor out) { put(out, at::_cdist_forward(a, b, p, mode ? std::optional<int64_t>(mode) : std::nullopt)); }
OP(CdistBackward, Tensor grad, Tensor a, Tensor b, Tensor distance, float p, Tensor out) { put(out, at::_cdist_backward(grad, a.contiguous(), b.contiguous(), p, distance)); }
OP(Pdist, Tensor a, float p, Tensor out) { put(out, at::_pdist_forward(a, p)); }

// Outputs whose size only the values tell.
OP(Unique, Tensor a, bool sorted, bool with_inverse, Dynamic values, Tensor inverse) {
  auto [v, i] = at::_unique(a, sorted, true);
  put(values, v);
  if (with_inverse) put(inverse, i);
}
OP(Unique2, Tensor a, bool sorted, bool with_inverse, bool with_counts, Dynamic values, Tensor inverse, Dynamic counts) {
  auto [v, i, c] = at::_unique2(a, sorted, true, true);
  put(values, v);
  if (with_inverse) put(inverse, i);
  if (with_counts) put(counts, c);
}
OP(UniqueDim, Tensor a, bool sorted, bool, int64_t dim, Dynamic values, Tensor inverse, Dynamic counts) {
  auto [v, i, c] = at::unique_dim(a, dim, sorted, true, true);
  put(values, v);
  put(inverse, i);
  put(counts, c);
}
OP(UniqueConsecutive, Tensor a, bool with_inverse, bool with_counts, int64_t dim, Dynamic values, Tensor inverse, Dynamic counts) {
  constexpr int64_t kFlattened = 1000;
  auto [v, i, c] = dim == kFlattened ? at::unique_consecutive(a, true, true) : at::unique_consecutive(a, true, true, dim);
  put(values, v);
  if (with_inverse) put(inverse, i);
  if (with_counts) put(counts, c);
}
OP(Nonzero, Tensor a, Dynamic out) { put(out, at::nonzero(a)); }
OP(NonzeroV2, Tensor a, Dynamic out) { put(out, at::nonzero(a).t().contiguous()); }
OP(MaskedSelect, Tensor a, Tensor mask, Dynamic out) { put(out, at::masked_select(a, mask.to(at::kBool))); }
