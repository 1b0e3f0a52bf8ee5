// The objects torch_npu passes to operators, and the running of operators.
#include "abi.hpp"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace emulator {
namespace {

// ATen's CPU kernels alone: no autograd, no modes of the caller's thread.
struct KernelsOnly {
  c10::impl::ExcludeDispatchKeyGuard excluded{
      c10::autograd_dispatch_keyset_with_ADInplaceOrView |
      c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::AutocastPrivateUse1,
                           c10::DispatchKey::AutocastCPU})};
};

std::mutex lock;
std::map<std::string, std::string>& signatures() {
  static auto* all = new std::map<std::string, std::string>;
  return *all;
}
std::map<std::string, uint64_t>& calls() {
  static auto* all = new std::map<std::string, uint64_t>;
  return *all;
}

void count(const char* name) {
  static const bool trace = getenv("NPUKIT_EMU_TRACE") != nullptr;
  if (trace) fprintf(stderr, "[npukit emulator] %s\n", name);
  std::lock_guard<std::mutex> held(lock);
  ++calls()[name];
}

// NPUKIT_EMU_WITHOUT=aclnnMm,aclnnGelu: operators for which this CANN has no kernel.
bool without(const char* name) {
  static const std::string list = [] {
    const char* text = getenv("NPUKIT_EMU_WITHOUT");
    return text ? "," + std::string(text) + "," : std::string();
  }();
  return !list.empty() && list.find("," + std::string(name) + ",") != std::string::npos;
}

bool refused(at::ScalarType type) {
  if (soc().bfloat16) return false;
  return type == at::kBFloat16 || type == at::kDouble || at::isComplexType(type);
}

std::string first_line(const std::exception& error) {
  std::string text = dynamic_cast<const c10::Error*>(&error) ? static_cast<const c10::Error&>(error).what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

// A failure whose caller may have gone on already (the call came from torch_npu's own thread, or from a graph): the device is
// lost with it, so that nothing after this looks like success.
int failed(int code, const std::string& text, bool caller_has_gone_on) {
  if (caller_has_gone_on) lose_device(code, text);
  return fail(code, text);
}

int run(aclOpExecutor& executor) {
  try {
    KernelsOnly guard;
    executor.run();
    return 0;
  } catch (const std::exception& error) {
    return failed(561000, std::string("EZ9999: ") + executor.name + " failed: " + first_line(error), queue_level() || executor.recorded);
  }
}

template <class Object, class... Values>
Object* make(Values&&... values) {
  return new Object{{}, std::forward<Values>(values)...};
}

}  // namespace

at::ScalarType scalar_type(aclDataType type) {
  switch (static_cast<int>(type)) {
    case 0: return at::kFloat;
    case 1: return at::kHalf;
    case 2: return at::kChar;
    case 3: return at::kInt;
    case 4: return at::kByte;
    case 6: return at::kShort;
    case 7: return at::kUInt16;
    case 8: return at::kUInt32;
    case 9: return at::kLong;
    case 10: return at::kUInt64;
    case 11: return at::kDouble;
    case 12: return at::kBool;
    case 16: return at::kComplexFloat;
    case 17: return at::kComplexDouble;
    case 27: return at::kBFloat16;
    case 33: return at::kComplexHalf;
    case 35: return at::kFloat8_e5m2;
    case 36: return at::kFloat8_e4m3fn;
  }
  TORCH_CHECK(false, "ACL data type ", static_cast<int>(type), " is not emulated");
}

Tensor tensor_of(const aclTensor* raw) {
  if (!raw) return {};
  auto type = scalar_type(raw->type);
  TORCH_CHECK(!refused(type), soc().name, " has no kernel for data type ", type, " (DT_", type == at::kBFloat16 ? "BFLOAT16" : at::toString(type), ")");
  char* data = static_cast<char*>(raw->data);
  return at::from_blob(data ? data + raw->offset * c10::elementSize(type) : nullptr, raw->sizes, raw->strides, at::TensorOptions().dtype(type));
}

void wrong_argument(const char* expected) { TORCH_CHECK(false, "an argument is not the ", expected, " that the operator's signature has there"); }

int prepare(const char* name, aclOpExecutor** executor, uint64_t* workspace, aclOpExecutor* (*make)(void*), void* raw) {
  bool late = queue_level() == 2;
  if (without(name)) return failed(561103, std::string("EZ9999: ") + name + ": no kernel of this operator is installed (NPUKIT_EMU_WITHOUT)", late);
  try {
    KernelsOnly guard;
    *executor = make(raw);
    (*executor)->name = name;
    *workspace = 0;
    return 0;
  } catch (const std::exception& error) {
    return failed(161002, std::string("EZ1001: ") + name + ": " + first_line(error), late);
  }
}

void list_operator(const char* name, std::initializer_list<const char*> kinds) {
  std::string text;
  for (const char* kind : kinds) text += std::string(" ") + kind;
  signatures()[name] = text;
}

void put(const Tensor& out, const Tensor& value) {
  if (!out.defined()) return;
  TORCH_CHECK(out.sizes() == value.sizes(), "torch_npu expects the shape ", out.sizes(), ", the result has ", value.sizes());
  TORCH_CHECK(at::canCast(value.scalar_type(), out.scalar_type()), "torch_npu expects ", out.scalar_type(), ", the result is ", value.scalar_type());
  const_cast<Tensor&>(out).copy_(value);
}

void put(Dynamic& out, const Tensor& value) {
  TORCH_CHECK(value.numel() <= out.buffer.numel(), "the buffer of ", out.buffer.numel(), " elements is too small for ", value.sizes());
  auto packed = value.to(out.buffer.scalar_type()).contiguous();
  if (packed.numel()) memcpy(out.buffer.data_ptr(), packed.data_ptr(), packed.nbytes());
  out.raw->sizes = value.sizes().vec();
}

}  // namespace emulator

using namespace emulator;

extern "C" {
EMULATOR_API aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t count, aclDataType type, const int64_t* strides, int64_t offset, aclFormat,
                                        const int64_t*, uint64_t, void* data) {
  return make<aclTensor>(Ints(sizes, sizes + count), Ints(strides, strides + count), offset, type, data);
}
EMULATOR_API aclScalar* aclCreateScalar(void* value, aclDataType type) {
  switch (static_cast<int>(type)) {
    case 0: return make<aclScalar>(at::Scalar(*static_cast<float*>(value)));
    case 1: return make<aclScalar>(at::Scalar(*static_cast<at::Half*>(value)));
    case 3: return make<aclScalar>(at::Scalar(static_cast<int64_t>(*static_cast<int32_t*>(value))));
    case 9: return make<aclScalar>(at::Scalar(*static_cast<int64_t*>(value)));
    case 11: return make<aclScalar>(at::Scalar(*static_cast<double*>(value)));
    case 12: return make<aclScalar>(at::Scalar(*static_cast<bool*>(value)));
    case 16: return make<aclScalar>(at::Scalar(*static_cast<c10::complex<float>*>(value)));
    case 17: return make<aclScalar>(at::Scalar(*static_cast<c10::complex<double>*>(value)));
    case 27: return make<aclScalar>(at::Scalar(*static_cast<at::BFloat16*>(value)));
  }
  fail(161002, "EZ1001: aclCreateScalar: ACL data type " + std::to_string(type) + " is not emulated");
  return nullptr;
}
EMULATOR_API aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) { return make<aclIntArray>(Ints(values, values + count)); }
EMULATOR_API aclFloatArray* aclCreateFloatArray(const float* values, uint64_t count) { return make<aclFloatArray>(std::vector<float>(values, values + count)); }
EMULATOR_API aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t count) { return make<aclBoolArray>(Bools(values, values + count)); }
EMULATOR_API aclTensorList* aclCreateTensorList(const aclTensor* const* values, uint64_t count) {
  return make<aclTensorList>(std::vector<const aclTensor*>(values, values + count));
}
EMULATOR_API aclScalarList* aclCreateScalarList(const aclScalar* const* values, uint64_t count) {
  return make<aclScalarList>(std::vector<const aclScalar*>(values, values + count));
}
EMULATOR_API int aclDestroyTensor(const aclTensor* held) { return delete held, 0; }
EMULATOR_API int aclDestroyScalar(const aclScalar* held) { return delete held, 0; }
EMULATOR_API int aclDestroyIntArray(const aclIntArray* held) { return delete held, 0; }
EMULATOR_API int aclDestroyFloatArray(const aclFloatArray* held) { return delete held, 0; }
EMULATOR_API int aclDestroyBoolArray(const aclBoolArray* held) { return delete held, 0; }
EMULATOR_API int aclDestroyTensorList(const aclTensorList* held) {
  if (held)
    for (auto* one : held->values) delete one;
  return delete held, 0;
}
EMULATOR_API int aclDestroyScalarList(const aclScalarList* held) {
  if (held)
    for (auto* one : held->values) delete one;
  return delete held, 0;
}
EMULATOR_API int aclDestroyAclOpExecutor(aclOpExecutor* held) { return delete held, 0; }
EMULATOR_API int aclGetViewShape(const aclTensor* tensor, int64_t** sizes, uint64_t* count) {
  *count = tensor->sizes.size();
  *sizes = new int64_t[*count + 1];  // the caller's to delete
  std::copy(tensor->sizes.begin(), tensor->sizes.end(), *sizes);
  return 0;
}

int npukit_emulator_execute(void*, uint64_t, aclOpExecutor* executor, void* stream) {
  std::shared_ptr<aclOpExecutor> owned(executor);
  count(owned->name);
  if (int code = admit(owned->name)) {
    if (queue_level()) lose_device(code, std::string("EZ9999: ") + owned->name + " failed with " + std::to_string(code));
    return code;
  }
  auto code = std::make_shared<int>(0);
  submit(stream, [owned, code] { *code = run(*owned); });
  owned->recorded = code.use_count() > 1;  // still held by a graph
  return *code;
}

// For tests and reports: "aclnnAdd tensor tensor scalar tensor" and "aclnnAdd 12", a line each. The text stays valid until the next call.
EMULATOR_API const char* npukit_emulator_signatures() {
  static std::string text;
  text.clear();
  for (auto& [name, kinds] : signatures()) text += name + kinds + "\n";
  return text.c_str();
}
EMULATOR_API const char* npukit_emulator_calls() {
  static std::string text;
  std::lock_guard<std::mutex> held(lock);
  text.clear();
  for (auto& [name, times] : calls()) text += name + " " + std::to_string(times) + "\n";
  return text.c_str();
}
}
