// What the two emulated libraries (libascendcl, libopapi) tell each other.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#define EMULATOR_API __attribute__((visibility("default")))

namespace emulator {

// Keeps `text`, in CANN's shape, as this thread's most recent error, and gives `code` back.
EMULATOR_API int fail(int code, const std::string& text);

// Asked at the start of every call that can be made to fail: the code to return instead of working, or 0.
// Counts the call, honours NPUKIT_EMU_FAULT, and answers with the error of a device that was lost before.
EMULATOR_API int admit(const char* call);

// Runs `work` on `stream` (all streams are synchronous), or records it when the stream is being captured.
EMULATOR_API void submit(void* stream, std::function<void()> work);

// A failure that the card would only find later: every later call on this device returns it.
EMULATOR_API void lose_device(int code, const std::string& text);

// What the emulated SoC can compute with.
struct Soc {
  const char* name;
  uint64_t hbm_bytes;
  int cube_cores, vector_cores;
  bool bfloat16;
  bool saturates;  // floating-point overflow gives the largest number and NaN gives 0, unless told otherwise
};
EMULATOR_API const Soc& soc();

// TASK_QUEUE_ENABLE, as torch_npu reads it: 0 calls from the caller's thread, 1 runs operators in a thread of its own, 2 prepares
// them there as well.
EMULATOR_API int queue_level();

}  // namespace emulator
