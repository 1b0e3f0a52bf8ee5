// Device memory is host memory, counted against each device's HBM.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "machine.hpp"

using namespace emulator;

namespace {

struct Block {
  size_t bytes;
  Device* device;
};
struct Physical {
  size_t bytes;
  Device* device;
};

std::mutex lock;
std::unordered_map<void*, Block>& blocks() {
  static auto* all = new std::unordered_map<void*, Block>;
  return *all;
}

int out_of_memory(Device* device, size_t bytes) {
  return fail(207001, "EL0004: Failed to allocate memory. Possible Cause: Available memory is insufficient: " + std::to_string(bytes) +
                          " bytes asked, " + std::to_string(device->used_bytes) + " of " + std::to_string(hbm_bytes()) + " used on device " +
                          std::to_string(device->id));
}

// Takes bytes from the device's HBM, or says that there are not as many.
bool reserve(Device* device, size_t bytes) {
  if (device->used_bytes.fetch_add(bytes) + bytes <= hbm_bytes()) return true;
  device->used_bytes -= bytes;
  return false;
}

aclError allocate(void** pointer, size_t bytes) {
  *pointer = nullptr;
  if (int code = admit("aclrtMalloc")) return code;
  Device* device = current_device();
  if (!reserve(device, bytes)) return out_of_memory(device, bytes);
  // The card's allocations are 512-byte aligned, and 32 bytes behind the end may be read.
  if (posix_memalign(pointer, 512, bytes + 32)) {
    device->used_bytes -= bytes;
    return out_of_memory(device, bytes);
  }
  std::lock_guard<std::mutex> held(lock);
  blocks()[*pointer] = {bytes, device};
  return 0;
}

void copy(void* to, const void* from, size_t bytes) { memmove(to, from, bytes); }

}  // namespace

extern "C" {
EMULATOR_API aclError aclrtMalloc(void** pointer, size_t bytes, aclrtMemMallocPolicy) { return allocate(pointer, bytes); }
EMULATOR_API aclError aclrtMallocAlign32(void** pointer, size_t bytes, aclrtMemMallocPolicy) { return allocate(pointer, bytes); }
EMULATOR_API aclError aclrtFree(void* pointer) {
  {
    std::lock_guard<std::mutex> held(lock);
    auto found = blocks().find(pointer);
    if (found == blocks().end()) return fail(107000, "EE1001: The argument is invalid.Reason: aclrtFree of an address that was not allocated");
    found->second.device->used_bytes -= found->second.bytes;
    blocks().erase(found);
  }
  free(pointer);
  return 0;
}
EMULATOR_API aclError aclrtMallocHost(void** pointer, size_t bytes) { return posix_memalign(pointer, 64, bytes + 64) ? 207001 : 0; }
EMULATOR_API aclError aclrtFreeHost(void* pointer) {
  free(pointer);
  return 0;
}
EMULATOR_API aclError aclrtGetMemInfo(aclrtMemAttr, size_t* unused, size_t* total) {
  if (!current_device()) return no_context();
  *total = hbm_bytes();
  size_t used = current_device()->used_bytes;
  *unused = *total > used ? *total - used : 0;
  return 0;
}

EMULATOR_API aclError aclrtMemcpy(void* to, size_t, const void* from, size_t bytes, aclrtMemcpyKind) {
  if (int code = admit("aclrtMemcpy")) return code;
  copy(to, from, bytes);
  return 0;
}
EMULATOR_API aclError aclrtMemcpyAsync(void* to, size_t, const void* from, size_t bytes, aclrtMemcpyKind, aclrtStream stream) {
  if (int code = admit("aclrtMemcpyAsync")) return code;
  submit(stream, [=] { copy(to, from, bytes); });
  return 0;
}
EMULATOR_API aclError aclrtMemset(void* to, size_t, int32_t value, size_t bytes) {
  if (int code = admit("aclrtMemset")) return code;
  memset(to, value, bytes);
  return 0;
}
EMULATOR_API aclError aclrtMemsetAsync(void* to, size_t, int32_t value, size_t bytes, aclrtStream stream) {
  if (int code = admit("aclrtMemsetAsync")) return code;
  submit(stream, [=] { memset(to, value, bytes); });
  return 0;
}

// Virtual addresses apart from physical memory: what expandable segments use.
EMULATOR_API aclError aclrtReserveMemAddress(void** address, size_t bytes, size_t, void*, uint64_t) {
  void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return 207001;
  std::lock_guard<std::mutex> held(lock);
  blocks()[range] = {bytes, nullptr};
  *address = range;
  return 0;
}
EMULATOR_API aclError aclrtReleaseMemAddress(void* address) {
  std::lock_guard<std::mutex> held(lock);
  auto found = blocks().find(address);
  if (found == blocks().end()) return 107000;
  munmap(address, found->second.bytes);
  blocks().erase(found);
  return 0;
}
EMULATOR_API aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t bytes, const aclrtPhysicalMemProp* wanted, uint64_t) {
  if (int code = admit("aclrtMallocPhysical")) return code;
  Device* owner = wanted && device(wanted->location.id) ? device(wanted->location.id) : current_device();
  if (!reserve(owner, bytes)) return out_of_memory(owner, bytes);
  *handle = reinterpret_cast<aclrtDrvMemHandle>(new Physical{bytes, owner});
  return 0;
}
EMULATOR_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  auto* memory = reinterpret_cast<Physical*>(handle);
  memory->device->used_bytes -= memory->bytes;
  delete memory;
  return 0;
}
EMULATOR_API aclError aclrtMapMem(void* address, size_t bytes, size_t, aclrtDrvMemHandle, uint64_t) {
  return mprotect(address, bytes, PROT_READ | PROT_WRITE) ? 107000 : 0;
}
EMULATOR_API aclError aclrtUnmapMem(void*) { return 0; }

// Memory shared with other processes is not emulated.
EMULATOR_API aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle, aclrtMemHandleType, uint64_t, uint64_t*) { return 207000; }
EMULATOR_API aclError aclrtMemImportFromShareableHandle(uint64_t, int32_t, aclrtDrvMemHandle*) { return 207000; }
EMULATOR_API aclError aclrtMemSetPidToShareableHandle(uint64_t, int32_t*, size_t) { return 207000; }
}
