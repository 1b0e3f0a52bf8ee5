// Settings come from the environment: NPUKIT_EMU_SOC, _HBM_BYTES, _DEVICES, _CANN, _FAULT.
#include "machine.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

namespace emulator {
namespace {

constexpr uint64_t kGiB = 1ull << 30;

// Core counts and memory as the SoCs' public data sheets have them.
const Soc kSocs[] = {
    {"Ascend910B1", 64 * kGiB, 24, 48, true, false},    {"Ascend910B2", 64 * kGiB, 24, 48, true, false},
    {"Ascend910B3", 64 * kGiB, 20, 40, true, false},    {"Ascend910B4", 32 * kGiB, 20, 40, true, false},
    {"Ascend910_9362", 64 * kGiB, 20, 40, true, false}, {"Ascend910_9391", 64 * kGiB, 24, 48, true, false},
    {"Ascend910A", 32 * kGiB, 32, 32, false, true},     {"Ascend310P3", 24 * kGiB, 8, 7, false, true},
};

std::array<Device, kMostDevices>& devices() {
  static auto* all = [] {
    auto* made = new std::array<Device, kMostDevices>;  // outlives static destructors that still free memory
    for (int i = 0; i < kMostDevices; ++i) (*made)[i].id = i;
    return made;
  }();
  return *all;
}

thread_local Device* current = nullptr;

int visible_devices(int present) {
  const char* mask = getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (!mask || !*mask) return present;
  int seen = 0;
  std::stringstream text(mask);
  for (std::string one; std::getline(text, one, ',');) {
    int id = atoi(one.c_str());
    if (id < 0 || id >= present) break;  // like the driver: what follows a wrong number is not visible
    ++seen;
  }
  return seen;
}

}  // namespace

const char* setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value && *value ? value : otherwise;
}

const Soc& soc() {
  static const Soc& chosen = []() -> const Soc& {
    const char* name = setting("NPUKIT_EMU_SOC", "Ascend910B3");
    for (const Soc& known : kSocs)
      if (!strcmp(known.name, name)) return known;
    fprintf(stderr, "[npukit emulator] NPUKIT_EMU_SOC=%s is not known; known are:", name);
    for (const Soc& known : kSocs) fprintf(stderr, " %s", known.name);
    fprintf(stderr, "\n");
    exit(3);
  }();
  return chosen;
}

size_t hbm_bytes() {
  static const size_t bytes = [] {
    const char* text = getenv("NPUKIT_EMU_HBM_BYTES");
    return text && *text ? strtoull(text, nullptr, 10) : soc().hbm_bytes;
  }();
  return bytes;
}

int device_count() {
  static const int count = visible_devices(std::min(kMostDevices, atoi(setting("NPUKIT_EMU_DEVICES", "1"))));
  return count;
}

std::string cann_version() { return setting("NPUKIT_EMU_CANN", "9.1.0"); }

int queue_level() {
  static const int level = getenv("ASCEND_LAUNCH_BLOCKING") && atoi(getenv("ASCEND_LAUNCH_BLOCKING")) ? 0 : atoi(setting("TASK_QUEUE_ENABLE", "1"));
  return level;
}

Device* device(int id) { return id >= 0 && id < device_count() ? &devices()[id] : nullptr; }
Device* current_device() { return current; }
void set_current_device(Device* chosen) { current = chosen; }

int no_context() {
  return fail(107002, "EE1001: The argument is invalid.Reason: The context is empty (context pointer null). "
                      "Check whether aclrtSetDevice or aclrtSetCurrentContext is called in this thread.");
}

}  // namespace emulator
