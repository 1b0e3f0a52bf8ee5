// The legacy single-operator interface (aclop) and hand-loaded kernels: descriptors work, execution is refused by name.
#include <cstdlib>
#include <utility>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "machine.hpp"

using namespace emulator;

namespace {
struct Description {
  aclDataType type;
  aclFormat format;
  std::vector<int64_t> sizes;
};
using Buffer = std::pair<void*, size_t>;

int refuse(const char* name) {
  std::string text = std::string("E40021: the legacy operator ") + name + " is not emulated";
  if (queue_level()) lose_device(500002, text);  // the caller has gone on: nothing it does now may look like success
  return fail(500002, text);
}
}  // namespace

extern "C" {
EMULATOR_API aclDataBuffer* aclCreateDataBuffer(void* data, size_t bytes) { return reinterpret_cast<aclDataBuffer*>(new Buffer(data, bytes)); }
EMULATOR_API aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
  delete reinterpret_cast<const Buffer*>(buffer);
  return 0;
}
EMULATOR_API aclTensorDesc* aclCreateTensorDesc(aclDataType type, int count, const int64_t* sizes, aclFormat format) {
  return reinterpret_cast<aclTensorDesc*>(new Description{type, format, std::vector<int64_t>(sizes, sizes + count)});
}
EMULATOR_API void aclDestroyTensorDesc(const aclTensorDesc* tensor) { delete reinterpret_cast<const Description*>(tensor); }
EMULATOR_API aclError aclGetTensorDescDimV2(const aclTensorDesc* tensor, size_t index, int64_t* size) { return *size = reinterpret_cast<const Description*>(tensor)->sizes.at(index), 0; }
EMULATOR_API aclFormat aclGetTensorDescFormat(const aclTensorDesc* tensor) { return reinterpret_cast<const Description*>(tensor)->format; }
EMULATOR_API size_t aclGetTensorDescNumDims(const aclTensorDesc* tensor) { return reinterpret_cast<const Description*>(tensor)->sizes.size(); }
EMULATOR_API aclDataType aclGetTensorDescType(const aclTensorDesc* tensor) { return reinterpret_cast<const Description*>(tensor)->type; }
EMULATOR_API void aclSetTensorDescName(aclTensorDesc*, const char*) {}
EMULATOR_API aclError aclSetTensorFormat(aclTensorDesc*, aclFormat) { return 0; }
EMULATOR_API aclError aclSetTensorPlaceMent(aclTensorDesc*, aclMemType) { return 0; }
EMULATOR_API aclError aclSetTensorShape(aclTensorDesc*, int, const int64_t*) { return 0; }
EMULATOR_API aclopAttr* aclopCreateAttr() { return static_cast<aclopAttr*>(malloc(1)); }
EMULATOR_API void aclopDestroyAttr(const aclopAttr* attributes) { free(const_cast<aclopAttr*>(attributes)); }
EMULATOR_API aclError aclopSetAttrBool(aclopAttr*, const char*, uint8_t) { return 0; }
EMULATOR_API aclError aclopSetAttrDataType(aclopAttr*, const char*, aclDataType) { return 0; }
EMULATOR_API aclError aclopSetAttrFloat(aclopAttr*, const char*, float) { return 0; }
EMULATOR_API aclError aclopSetAttrInt(aclopAttr*, const char*, int64_t) { return 0; }
EMULATOR_API aclError aclopSetAttrListBool(aclopAttr*, const char*, int, const uint8_t*) { return 0; }
EMULATOR_API aclError aclopSetAttrListFloat(aclopAttr*, const char*, int, const float*) { return 0; }
EMULATOR_API aclError aclopSetAttrListInt(aclopAttr*, const char*, int, const int64_t*) { return 0; }
EMULATOR_API aclError aclopSetAttrListListInt(aclopAttr*, const char*, int, const int*, const int64_t* const*) { return 0; }
EMULATOR_API aclError aclopSetAttrString(aclopAttr*, const char*, const char*) { return 0; }
EMULATOR_API aclError aclopCompileAndExecute(const char* name, int, const aclTensorDesc* const*, const aclDataBuffer* const*, int, const aclTensorDesc* const*,
                                             aclDataBuffer* const*, const aclopAttr*, aclopEngineType, aclopCompileType, const char*, aclrtStream) {
  return refuse(name);
}
EMULATOR_API aclError aclopCompileAndExecuteV2(const char* name, int, aclTensorDesc**, aclDataBuffer**, int, aclTensorDesc**, aclDataBuffer**, aclopAttr*,
                                               aclopEngineType, aclopCompileType, const char*, aclrtStream) {
  return refuse(name);
}
EMULATOR_API aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char* name, aclrtFuncHandle*) { return refuse(name); }
EMULATOR_API aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle*) { return refuse("aclrtBinaryLoadFromData"); }
EMULATOR_API aclError aclrtGetFunctionAddr(aclrtFuncHandle, void**, void**) { return refuse("aclrtGetFunctionAddr"); }
EMULATOR_API int rtDevBinaryRegister(const void*, void**) { return refuse("rtDevBinaryRegister"); }
EMULATOR_API int rtFunctionRegister(void*, const void*, const char*, const void*, uint32_t) { return refuse("rtFunctionRegister"); }
EMULATOR_API int rtGetC2cCtrlAddr(uint64_t*, uint32_t*) { return refuse("rtGetC2cCtrlAddr"); }
EMULATOR_API int rtKernelLaunch(const void*, uint32_t, void*, uint32_t, void*, void*) { return refuse("rtKernelLaunch"); }
}
