// Devices, contexts and what they say about themselves.
#include <unistd.h>

#include <cstring>

#include "machine.hpp"

using namespace emulator;

extern "C" {
EMULATOR_API aclError aclInit(const char*) { return 0; }
EMULATOR_API aclError aclFinalize() { return 0; }
EMULATOR_API const char* aclrtGetSocName() { return soc().name; }
EMULATOR_API void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char*, ...) {}

EMULATOR_API aclError aclrtGetDeviceCount(uint32_t* count) {
  *count = device_count();
  return device_count() ? 0 : fail(207004, "EE4001: No NPU device is visible; see ASCEND_RT_VISIBLE_DEVICES.");
}
EMULATOR_API aclError aclrtSetDevice(int32_t id) {
  Device* chosen = device(id);
  if (!chosen) return fail(107001, "EE1001: The argument is invalid.Reason: Set device failed, invalid device, set device=" + std::to_string(id) + ", valid device range is [0, " + std::to_string(device_count()) + ")");
  set_current_device(chosen);
  return 0;
}
EMULATOR_API aclError aclrtGetDevice(int32_t* id) {
  if (!current_device()) return no_context();
  *id = current_device()->id;
  return 0;
}
EMULATOR_API aclError aclrtResetDevice(int32_t) { return 0; }
EMULATOR_API aclError aclrtGetLogicDevIdByUserDevId(const int32_t user, int32_t* const logic) { return *logic = user, 0; }

// A context is its device: torch_npu only ever uses each device's primary one.
EMULATOR_API aclError aclrtGetCurrentContext(aclrtContext* context) {
  if (!current_device()) return no_context();
  *context = current_device();
  return 0;
}
EMULATOR_API aclError aclrtSetCurrentContext(aclrtContext context) {
  if (!context) return fail(107000, "EE1001: The argument is invalid.Reason: context is null");
  set_current_device(static_cast<Device*>(context));
  return 0;
}
EMULATOR_API aclError aclrtGetPrimaryCtxState(int32_t id, uint32_t* flags, int32_t* active) {
  if (flags) *flags = 0;
  *active = device(id) != nullptr;
  return 0;
}

EMULATOR_API aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo info, int64_t* value) {
  switch (info) {
    case ACL_DEVICE_INFO_AI_CORE_NUM: *value = soc().cube_cores; break;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM: *value = soc().vector_cores; break;
    default: *value = 0;
  }
  return 0;
}
EMULATOR_API aclError aclrtGetDeviceInfo(uint32_t id, aclrtDevAttr attribute, int64_t* value) {
  switch (attribute) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM: *value = 6; break;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM: *value = soc().cube_cores; break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = soc().vector_cores; break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = hbm_bytes(); break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE: *value = 192 << 20; break;
    case ACL_DEV_ATTR_PHY_CHIP_ID: *value = id; break;
    default: *value = 0;
  }
  return 0;
}
EMULATOR_API aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t from, int32_t to) {
  *can = from != to && device(from) && device(to);
  return 0;
}
EMULATOR_API aclError aclrtDeviceEnablePeerAccess(int32_t, uint32_t) { return 0; }
EMULATOR_API aclError aclrtDeviceGetBareTgid(int32_t* pid) { return *pid = getpid(), 0; }
EMULATOR_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode) { return 0; }

EMULATOR_API aclError aclsysGetCANNVersion(aclCANNPackageName, aclCANNPackageVersion* version) {
  memset(version, 0, sizeof *version);
  strncpy(version->version, cann_version().c_str(), sizeof version->version - 1);
  return 0;
}
EMULATOR_API aclError aclsysGetVersionStr(char*, char* text) {
  strcpy(text, cann_version().c_str());
  return 0;
}
}
