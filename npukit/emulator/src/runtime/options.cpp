// Compile and system options, dumps and profiling: kept or ignored, as far as torch_npu asks for them.
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "acl/acl_op_compiler.h"
#include "machine.hpp"

using namespace emulator;

extern "C" {
// The operator compiler does not start without its cache directory.
EMULATOR_API aclError aclSetCompileopt(aclCompileOpt, const char*) {
  const char* cache = getenv("ASCEND_CACHE_PATH");
  struct stat found;
  if (cache && *cache && stat(cache, &found))
    return fail(500001, std::string("EC0010: Failed to initialise the operator compiler: ASCEND_CACHE_PATH ") + cache + " does not exist");
  return 0;
}
// "disable" is the answer for JIT compilation; anything else sends operators down the legacy aclop path.
constexpr char kCompileOption[] = "disable";
EMULATOR_API size_t aclGetCompileoptSize(aclCompileOpt) { return sizeof kCompileOption; }
EMULATOR_API aclError aclGetCompileopt(aclCompileOpt, char* value, size_t size) {
  strncpy(value, kCompileOption, size);
  return 0;
}
EMULATOR_API aclError aclrtSetSysParamOpt(aclSysParamOpt, int64_t) { return 0; }
EMULATOR_API aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t) { return 0; }
EMULATOR_API aclError aclrtGetSysParamOpt(aclSysParamOpt, int64_t* value) { return *value = 0, 0; }
EMULATOR_API aclError aclrtSetOpExecuteTimeOut(uint32_t) { return 0; }
EMULATOR_API aclError aclrtSetOpExecuteTimeOutV2(uint64_t, uint64_t* actual) {
  if (actual) *actual = 0;
  return 0;
}
EMULATOR_API aclError aclrtSetOpWaitTimeout(uint32_t) { return 0; }

// Settings of HCCL are taken; collectives are not emulated.
EMULATOR_API int HcclSetConfig(int, int64_t) { return 0; }

EMULATOR_API aclError aclmdlInitDump() { return 0; }
EMULATOR_API aclError aclmdlFinalizeDump() { return 0; }
EMULATOR_API aclError aclmdlSetDump(const char*) { return 0; }
EMULATOR_API uint64_t MsprofGetHashId(const char*, size_t) { return 0; }
EMULATOR_API int32_t MsprofRegisterCallback(uint32_t, void*) { return 0; }
EMULATOR_API int32_t MsprofReportAdditionalInfo(uint32_t, void*, uint32_t) { return 0; }
EMULATOR_API int32_t MsprofReportApi(uint32_t, const void*) { return 0; }
EMULATOR_API int32_t MsprofReportCompactInfo(uint32_t, void*, uint32_t) { return 0; }
EMULATOR_API uint64_t MsprofSysCycleTime() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
}
