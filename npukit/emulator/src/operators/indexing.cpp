// Reading and writing by index.
#include "abi.hpp"

using namespace emulator;

// torch_npu stands an empty one-dimensional tensor for "no index in this dimension".
static c10::List<std::optional<Tensor>> indices_of(const Tensors& given) {
  c10::List<std::optional<Tensor>> out;
  for (const Tensor& index : given) out.push_back(index.defined() && !(index.dim() == 1 && index.numel() == 0) ? std::optional<Tensor>(index) : std::nullopt);
  return out;
}
OP(Index, Tensor a, Tensors indices, Tensor out) { put(out, out.numel() ? at::index(a, indices_of(indices)) : out); }
OP(IndexPutImpl, Tensor a, Tensors indices, Tensor values, bool accumulate, bool) {
  auto used = indices_of(indices);
  bool any = false;
  for (size_t i = 0; i < used.size(); ++i) any = any || used.get(i).has_value();
  if (any) at::index_put_(a, used, values, accumulate);  // else the one index there was is empty
}
OP(IndexSelect, Tensor a, int64_t dim, Tensor index, Tensor out) { put(out, at::index_select(a, dim, index.reshape(-1)).reshape(out.sizes())); }
OP(IndexAdd, Tensor a, int64_t dim, Tensor index, Tensor source, Scalar alpha, Tensor out) { put(out, at::index_add(a, dim, index, source, alpha)); }
OP(IndexAddV2, Tensor a, int64_t dim, Tensor index, Tensor source, Scalar alpha, int64_t, Tensor out) { put(out, at::index_add(a, dim, index, source, alpha)); }
OP(IndexCopy, Tensor a, int64_t dim, Tensor index, Tensor source, Tensor out) { put(out, at::index_copy(a, dim, index, source)); }
OP(InplaceIndexCopy, Tensor a, int64_t dim, Tensor index, Tensor source) { put(a, at::index_copy(a, dim, index, source)); }
OP(IndexFill, Tensor a, int64_t dim, Tensor index, Scalar value, Tensor out) { put(out, at::index_fill(a, dim, index, value)); }
OP(IndexFillTensor, Tensor a, int64_t dim, Ints index, Scalar value, Tensor out) { put(out, at::index_fill(a, dim, at::tensor(index, at::kLong), value)); }
OP(InplaceIndexFill, Tensor a, int64_t dim, Tensor index, Scalar value) { put(a, at::index_fill(a, dim, index, value)); }
OP(InplaceIndexFillTensor, Tensor a, int64_t dim, Ints index, Scalar value) { put(a, at::index_fill(a, dim, at::tensor(index, at::kLong), value)); }
OP(Gather, Tensor a, int64_t dim, Tensor index, Tensor out) { put(out, at::gather(a, dim, index)); }
OP(GatherV3, Tensor a, int64_t dim, Tensor index, int64_t batch_dims, int64_t, Tensor out) {
  TORCH_CHECK(batch_dims == 0, "batch dimensions are not emulated");
  put(out, at::index_select(a, dim, index.flatten()).view(out.sizes()));
}
OP(Take, Tensor a, Tensor index, Tensor out) { put(out, at::take(a, index)); }
OP(InplacePut, Tensor a, Tensor index, Tensor source, bool accumulate) { put(a, at::put(a, index, source, accumulate)); }

// What Scatter does with values that are there already: 0 replaces, 1 adds, 2 multiplies.
static Tensor scattered(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& source, int64_t reduction) {
  if (reduction == 0) return at::scatter(a, dim, index, source);
  return reduction == 1 ? at::scatter_add(a, dim, index, source) : at::scatter(a, dim, index, source, "multiply");
}
static Tensor scattered(const Tensor& a, int64_t dim, const Tensor& index, const Scalar& value, int64_t reduction) {
  return reduction == 0 ? at::scatter(a, dim, index, value) : at::scatter(a, dim, index, value, reduction == 1 ? "add" : "multiply");
}
OP(Scatter, Tensor a, int64_t dim, Tensor index, Tensor source, int64_t reduction, Tensor out) { put(out, scattered(a, dim, index, source, reduction)); }
OP(ScatterValue, Tensor a, int64_t dim, Tensor index, Scalar value, int64_t reduction, Tensor out) { put(out, scattered(a, dim, index, value, reduction)); }
OP(InplaceScatter, Tensor a, int64_t dim, Tensor index, Tensor source, int64_t reduction) { put(a, scattered(a, dim, index, source, reduction)); }
OP(InplaceScatterValue, Tensor a, int64_t dim, Tensor index, Scalar value, int64_t reduction) { put(a, scattered(a, dim, index, value, reduction)); }
OP(ScatterAdd, Tensor a, int64_t dim, Tensor index, Tensor source, Tensor out) { put(out, at::scatter_add(a, dim, index, source)); }
static Tensor reduced(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& source, int64_t reduction, bool include_self) {
  static const char* const kNames[] = {"none", "sum", "prod", "amax", "amin", "mean"};  // op-plugin's ScatterReduceType
  TORCH_CHECK(reduction >= 0 && reduction <= 5, "reduction ", reduction, " is not emulated");
  if (reduction == 0) return at::scatter(a, dim, index, source);
  return at::scatter_reduce(a, dim, index, source, kNames[reduction], include_self);
}
OP(ScatterReduce, Tensor a, int64_t dim, Tensor index, Tensor source, int64_t reduction, bool include_self, Tensor out) { put(out, reduced(a, dim, index, source, reduction, include_self)); }
OP(InplaceScatterReduce, Tensor a, int64_t dim, Tensor index, Tensor source, int64_t reduction, bool include_self) { put(a, reduced(a, dim, index, source, reduction, include_self)); }
OP(ScatterNdUpdate, Tensor a, Tensor indices, Tensor updates) {
  c10::List<std::optional<Tensor>> at_each;
  for (auto& one : indices.to(at::kLong).unbind(-1)) at_each.push_back(one);
  at::index_put_(a, at_each, updates);
}

OP(InplaceMaskedFillScalar, Tensor a, Tensor mask, Scalar value) { put(a, at::masked_fill(a, mask.to(at::kBool), value)); }
OP(InplaceMaskedFillTensor, Tensor a, Tensor mask, Tensor value) { put(a, at::masked_fill(a, mask.to(at::kBool), value.reshape({}))); }
OP(InplaceMaskedScatter, Tensor a, Tensor mask, Tensor source) { put(a, at::masked_scatter(a, mask.to(at::kBool), source)); }
OP(InplaceFillDiagonal, Tensor a, Scalar value, bool wrap) { a.fill_diagonal_(value, wrap); }

OP(Embedding, Tensor weight, Tensor indices, Tensor out) { put(out, at::embedding(weight, indices)); }
OP(EmbeddingDenseBackward, Tensor grad, Tensor indices, int64_t rows, int64_t padding, bool scale, Tensor out) { put(out, at::embedding_dense_backward(grad, indices, rows, padding, scale)); }
OP(EmbeddingRenorm, Tensor a, Tensor indices, double most, double p) { at::embedding_renorm_(a, indices, most, p); }
OP(EmbeddingBag, Tensor weight, Tensor indices, Tensor offsets, bool scale, int64_t mode, bool sparse, Tensor sample_weights, bool last_offset, int64_t padding, Tensor out, Tensor offset2bag, Tensor sizes,
   Tensor most) {
  auto [y, o, s, m] = at::_embedding_bag(weight, indices, offsets, scale, mode, sparse, maybe(sample_weights), last_offset, padding);
  put(out, y);
  if (o.sizes() == offset2bag.sizes()) offset2bag.copy_(o);
  if (s.sizes() == sizes.sizes()) sizes.copy_(s);
  if (m.sizes() == most.sizes()) most.copy_(m);
}
OP(IsInScalarTensor, Scalar a, Tensor b, bool unique, bool invert, Tensor out) { put(out, at::isin(a, b, unique, invert)); }
OP(IsInTensorScalar, Tensor a, Scalar b, bool unique, bool invert, Tensor out) { put(out, at::isin(a, b, unique, invert)); }
OP(SearchSorted, Tensor sorted, Tensor values, bool int32, bool right, Tensor sorter, Tensor out) { put(out, at::searchsorted(sorted, values, int32, right, std::nullopt, maybe(sorter))); }
OP(SearchSorteds, Tensor sorted, Scalar value, bool int32, bool right, Tensor sorter, Tensor out) {
  put(out, at::searchsorted(sorted, value, int32, right, std::nullopt, maybe(sorter)).reshape(out.sizes()));
}
OP(Bucketize, Tensor a, Tensor boundaries, bool int32, bool right, Tensor out) { put(out, at::bucketize(a, boundaries, int32, right)); }
OP(OneHot, Tensor a, int64_t depth, Tensor on, Tensor off, int64_t axis, Tensor out) {
  auto hot = at::one_hot(a.to(at::kLong), depth).to(at::kBool);
  if (axis != -1 && axis != a.dim()) hot = hot.movedim(-1, axis);
  put(out, at::where(hot, on.reshape({}), off.reshape({})).to(out.scalar_type()));
}
