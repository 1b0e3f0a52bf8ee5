// The most recent error of each thread, lost devices, and injected faults.
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "machine.hpp"

namespace emulator {
namespace {

thread_local std::string recent;

// NPUKIT_EMU_FAULT=call:count:code[,...]: the count-th call of that name (aclnnMatmul, aclrtMalloc,
// aclrtSynchronizeStream, or * for any operator) fails with the code.
struct Fault {
  std::string call;
  long count;
  int code;
};

std::vector<Fault> read_faults() {
  std::vector<Fault> faults;
  std::stringstream text(setting("NPUKIT_EMU_FAULT", ""));
  for (std::string one; std::getline(text, one, ',');) {
    std::stringstream parts(one);
    std::string call, count, code;
    std::getline(parts, call, ':');
    std::getline(parts, count, ':');
    std::getline(parts, code, ':');
    if (code.empty() || atol(count.c_str()) < 1 || atoi(code.c_str()) == 0) {
      fprintf(stderr, "[npukit emulator] NPUKIT_EMU_FAULT=%s: expected call:count:code, as aclnnMm:3:507011\n", one.c_str());
      exit(3);
    }
    faults.push_back({call, atol(count.c_str()), atoi(code.c_str())});
  }
  return faults;
}

int injected(const char* call) {
  static std::vector<Fault> faults = read_faults();
  if (faults.empty()) return 0;
  static std::mutex lock;
  std::lock_guard<std::mutex> held(lock);
  for (Fault& fault : faults) {
    bool meant = fault.call == call || (fault.call == "*" && !strncmp(call, "aclnn", 5));
    if (meant && --fault.count == 0) return fault.code;
  }
  return 0;
}

// Codes that a card reports only when somebody waits for it: the kernel was launched, and died there.
bool found_later(int code) { return code / 1000 == 507; }

}  // namespace

int fail(int code, const std::string& text) {
  char when[32];
  time_t now = time(nullptr);
  strftime(when, sizeof when, "%Y-%m-%d-%H:%M:%S", localtime(&now));
  auto colon = text.find(": ");
  bool coded = colon != std::string::npos && colon < 8;  // "EZ1001: what happened"
  recent = (coded ? text.substr(0, colon) : std::string("EZ9999")) + ": [PID: " + std::to_string(getpid()) + "] " + when +
           " (emulated NPU) " + (coded ? text.substr(colon + 2) : text) + "\n        TraceBack (most recent call last):\n";
  return code;
}

void lose_device(int code, const std::string& text) {
  Device* device = current_device();
  if (!device || device->lost) return;
  device->lost_text = text;
  device->lost = code;
}

int admit(const char* call) {
  Device* device = current_device();
  if (!device) return no_context();
  int code = injected(call);
  bool launch = !strncmp(call, "aclnn", 5);
  if (code && launch && found_later(code)) {
    lose_device(code, std::string("EZ9999: The error from device, injected into ") + call + ", code " + std::to_string(code));
    return 0;
  }
  if (code) return fail(code, std::string("EZ9999: ") + call + " failed by NPUKIT_EMU_FAULT with " + std::to_string(code));
  if (device->lost) return fail(device->lost, device->lost_text);
  return 0;
}

}  // namespace emulator

using namespace emulator;

extern "C" {
EMULATOR_API const char* aclGetRecentErrMsg() {
  static thread_local std::string told;
  told.swap(recent);
  recent.clear();
  return told.c_str();
}
EMULATOR_API aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return current_device() ? current_device()->lost.load() : 0; }
EMULATOR_API aclError aclrtGetLastError(aclrtLastErrLevel) { return current_device() ? current_device()->lost.load() : 0; }
}
