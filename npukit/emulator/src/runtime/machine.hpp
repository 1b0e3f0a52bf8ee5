// The emulated machine: its devices, and the device each thread works on.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "../emulator.hpp"
#include "acl/acl.h"

namespace emulator {

constexpr int kMostDevices = 16;

struct Device {
  int id = 0;
  std::atomic<size_t> used_bytes{0};
  std::atomic<int> lost{0};  // the error that every call returns from now on
  std::string lost_text;
};

int device_count();
Device* device(int id);     // null when there is no such device
Device* current_device();   // null in a thread that has not called aclrtSetDevice
void set_current_device(Device* device);
int no_context();           // the error of such a thread
size_t hbm_bytes();
std::string cann_version();
const char* setting(const char* name, const char* otherwise);

}  // namespace emulator
