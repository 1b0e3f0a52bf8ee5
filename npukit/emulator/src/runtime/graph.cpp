// Graph capture: what a captured stream is given to do is recorded, and run again when the graph is executed.
#include "machine.hpp"
#include "stream.hpp"

using namespace emulator;

extern "C" {
EMULATOR_API aclError aclmdlRICaptureBegin(aclrtStream handle, aclmdlRICaptureMode) {
  auto* stream = static_cast<Stream*>(handle);
  if (stream->capturing) return fail(107027, "EE1001: The argument is invalid.Reason: the stream is being captured already");
  stream->capturing = new Graph;
  return 0;
}
EMULATOR_API aclError aclmdlRICaptureGetInfo(aclrtStream handle, aclmdlRICaptureStatus* status, aclmdlRI* model) {
  auto* stream = static_cast<Stream*>(handle);
  *status = stream && stream->capturing ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  if (model) *model = stream ? stream->capturing : nullptr;
  return 0;
}
EMULATOR_API aclError aclmdlRICaptureEnd(aclrtStream handle, aclmdlRI* model) {
  auto* stream = static_cast<Stream*>(handle);
  if (!stream->capturing) return fail(107029, "EE1001: The argument is invalid.Reason: the stream is not being captured");
  *model = stream->capturing;
  stream->capturing = nullptr;
  return 0;
}
EMULATOR_API aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode*) { return 0; }
EMULATOR_API aclError aclmdlRIExecuteAsync(aclmdlRI model, aclrtStream) {
  if (int code = admit("aclmdlRIExecuteAsync")) return code;
  for (auto& work : static_cast<Graph*>(model)->work) work();
  return current_device()->lost ? fail(current_device()->lost, current_device()->lost_text) : 0;
}
EMULATOR_API aclError aclmdlRIDestroy(aclmdlRI model) {
  delete static_cast<Graph*>(model);
  return 0;
}
EMULATOR_API aclError aclmdlRIGetId(aclmdlRI model, uint32_t* id) { return *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(model) >> 4), 0; }
EMULATOR_API aclError aclmdlRIDebugPrint(aclmdlRI) { return 0; }
}
