// The C interface of aclnn operators, derived from the C++ signature of each implementation.
//
//   OP(Add, Tensor a, Tensor b, Scalar alpha, Tensor out) { put(out, at::add(a, b, alpha)); }
//
// defines aclnnAddGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclScalar*, aclTensor*, uint64_t*,
// aclOpExecutor**), which checks and keeps the arguments, and aclnnAdd(...), which runs the body with ATen's CPU kernels.
#pragma once
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/List.h>
#include <ATen/ops/from_blob.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "../emulator.hpp"
#include "acl/acl_base.h"

// What torch_npu holds by pointer. The tag tells a wrong argument from a right one.
template <uint32_t Tag>
struct Tagged {
  uint32_t tag = Tag;
};
struct aclTensor : Tagged<0x54454e53> {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  aclDataType type;
  void* data;
};
struct aclScalar : Tagged<0x5343414c> {
  at::Scalar value;
};
struct aclIntArray : Tagged<0x494e5453> {
  std::vector<int64_t> values;
};
struct aclFloatArray : Tagged<0x464c5453> {
  std::vector<float> values;
};
struct aclBoolArray : Tagged<0x424f4f4c> {
  std::vector<char> values;
};
struct aclTensorList : Tagged<0x544c5354> {
  std::vector<const aclTensor*> values;
};
struct aclScalarList : Tagged<0x534c5354> {
  std::vector<const aclScalar*> values;
};
struct aclOpExecutor {
  virtual ~aclOpExecutor() = default;
  virtual void run() = 0;
  const char* name;
  bool recorded = false;  // in a graph: it may run many times
};

namespace emulator {

// What an implementation takes. A Tensor is undefined, a list empty and a MaybeScalar nothing where torch_npu passes null.
using Tensor = at::Tensor;
using Scalar = at::Scalar;
using MaybeScalar = std::optional<at::Scalar>;
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Bools = std::vector<char>;
using Tensors = std::vector<at::Tensor>;
using Scalars = std::vector<at::Scalar>;
using Text = std::string;
struct MaybeInts {
  std::optional<std::vector<int64_t>> values;  // null is not the same as empty
  operator at::OptionalIntArrayRef() const { return values ? at::OptionalIntArrayRef(*values) : at::OptionalIntArrayRef(); }
};
struct Dtype {
  std::optional<at::ScalarType> type;
};
struct Dynamic {  // an output whose shape is known only after the run; its buffer is an upper bound
  at::Tensor buffer;
  aclTensor* raw;
};

at::ScalarType scalar_type(aclDataType type);
Tensor tensor_of(const aclTensor* raw);
[[noreturn]] void wrong_argument(const char* expected);

template <class Raw>
const Raw* checked(const Raw* raw, const char* expected) {
  if (raw && (reinterpret_cast<uintptr_t>(raw) < 4096 || raw->tag != Raw().tag)) wrong_argument(expected);
  return raw;
}

// Abi<X>: what X is in C (raw), how it is called in the signature table (kind), and how it is read (read).
template <class X>
struct Abi;
#define NPUKIT_PLAIN(type, name)             \
  template <>                                \
  struct Abi<type> {                         \
    using raw = type;                        \
    static constexpr char kind[] = name;     \
    static type read(type value) { return value; } \
  };
NPUKIT_PLAIN(int64_t, "int64")
NPUKIT_PLAIN(int32_t, "int32")
NPUKIT_PLAIN(int8_t, "int8")
NPUKIT_PLAIN(uint64_t, "uint64")
NPUKIT_PLAIN(bool, "bool")
NPUKIT_PLAIN(double, "double")
NPUKIT_PLAIN(float, "float")
#undef NPUKIT_PLAIN
#define NPUKIT_HELD(type, pointed, name, expression)                      \
  template <>                                                             \
  struct Abi<type> {                                                      \
    using raw = const pointed*;                                           \
    static constexpr char kind[] = name;                                  \
    static type read(raw given) {                                         \
      const pointed* value = checked(given, name);                        \
      return expression;                                                  \
    }                                                                     \
  };
NPUKIT_HELD(Tensor, aclTensor, "tensor", tensor_of(value))
NPUKIT_HELD(Dynamic, aclTensor, "tensor", (Dynamic{tensor_of(value), const_cast<aclTensor*>(value)}))
NPUKIT_HELD(Scalar, aclScalar, "scalar", value ? value->value : (wrong_argument("scalar"), Scalar()))
NPUKIT_HELD(MaybeScalar, aclScalar, "scalar", value ? MaybeScalar(value->value) : MaybeScalar())
NPUKIT_HELD(Ints, aclIntArray, "ints", value ? value->values : Ints())
NPUKIT_HELD(MaybeInts, aclIntArray, "ints", value ? MaybeInts{value->values} : MaybeInts())
NPUKIT_HELD(Floats, aclFloatArray, "floats", value ? Floats(value->values.begin(), value->values.end()) : Floats())
NPUKIT_HELD(Bools, aclBoolArray, "bools", value ? value->values : Bools())
#undef NPUKIT_HELD
template <>
struct Abi<Tensors> {
  using raw = const aclTensorList*;
  static constexpr char kind[] = "tensors";
  static Tensors read(raw given) {
    Tensors out;
    if (checked(given, kind))
      for (const aclTensor* one : given->values) out.push_back(tensor_of(checked(one, "tensor")));
    return out;
  }
};
template <>
struct Abi<Scalars> {
  using raw = const aclScalarList*;
  static constexpr char kind[] = "scalars";
  static Scalars read(raw given) {
    Scalars out;
    if (checked(given, kind))
      for (const aclScalar* one : given->values) out.push_back(checked(one, "scalar")->value);
    return out;
  }
};
template <>
struct Abi<Dtype> {
  using raw = aclDataType;
  static constexpr char kind[] = "dtype";
  static Dtype read(raw given) { return {static_cast<int>(given) < 0 ? std::nullopt : std::optional(scalar_type(given))}; }
};
template <>
struct Abi<Text> {
  using raw = const char*;
  static constexpr char kind[] = "text";
  static Text read(raw given) { return given ? given : ""; }
};

template <class... A>
struct Call final : aclOpExecutor {
  Call(void (*body)(A...), A... args) : body(body), args(std::move(args)...) {}
  void run() override { std::apply(body, args); }
  void (*body)(A...);
  std::tuple<A...> args;
};

// Runs `make` with every error turned into CANN's code for wrong parameters and a text that names the operator.
int prepare(const char* name, aclOpExecutor** executor, uint64_t* workspace, aclOpExecutor* (*make)(void*), void* raw);
void list_operator(const char* name, std::initializer_list<const char*> kinds);

template <auto Body, const char* Name, class Signature = decltype(Body)>
struct Operator;
template <auto Body, const char* Name, class... A>
struct Operator<Body, Name, void (*)(A...)> {
  static int get_workspace_size(typename Abi<A>::raw... raw, uint64_t* workspace, aclOpExecutor** executor) {
    auto make = [&]() -> aclOpExecutor* { return new Call<A...>(Body, Abi<A>::read(raw)...); };
    return prepare(Name, executor, workspace, [](void* closure) { return (*static_cast<decltype(make)*>(closure))(); }, &make);
  }
  static void list() { list_operator(Name, {Abi<A>::kind...}); }
};

// Writes a computed value to an output, which must already have the shape that torch_npu inferred.
void put(const Tensor& out, const Tensor& value);
void put(Dynamic& out, const Tensor& value);
inline std::optional<Tensor> maybe(const Tensor& tensor) { return tensor.defined() ? std::optional<Tensor>(tensor) : std::nullopt; }

}  // namespace emulator

extern "C" int npukit_emulator_execute(void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream);

#define OP(name, ...)                                                                                           \
  static void body_##name(__VA_ARGS__);                                                                         \
  static constexpr char name_##name[] = "aclnn" #name;                                                          \
  using Operator_##name = Operator<&body_##name, name_##name>;                                                  \
  extern "C" {                                                                                                  \
  static void* resolve_##name() { return reinterpret_cast<void*>(&Operator_##name::get_workspace_size); }       \
  EMULATOR_API void aclnn##name##GetWorkspaceSize() __attribute__((ifunc("resolve_" #name)));                   \
  EMULATOR_API int aclnn##name(void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) {        \
    return npukit_emulator_execute(workspace, bytes, executor, stream);                                         \
  }                                                                                                             \
  }                                                                                                             \
  static const bool listed_##name = (Operator_##name::list(), true);                                            \
  static void body_##name(__VA_ARGS__)
