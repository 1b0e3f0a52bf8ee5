// Streams run their work at once, in the caller's thread; events are points in time.
#include "stream.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "machine.hpp"

using namespace emulator;

namespace {

std::atomic<int> next_stream{1};

double now_ms() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}
Stream* stream_of(void* handle) { return static_cast<Stream*>(handle); }
Event* event_of(void* handle) { return static_cast<Event*>(handle); }

aclError create(aclrtStream* stream) {
  if (int code = admit("aclrtCreateStream")) return code;
  *stream = new Stream{next_stream++};
  return 0;
}
aclError wait(const char* call, Stream* stream) {
  if (stream && stream->capturing)
    return fail(107030, std::string("EE1001: The argument is invalid.Reason: ") + call + " is not allowed while the stream is being captured");
  return admit(call);
}

}  // namespace

void emulator::submit(void* handle, std::function<void()> work) {
  Stream* stream = stream_of(handle);
  if (stream && stream->capturing)
    stream->capturing->work.push_back(std::move(work));
  else
    work();
}

extern "C" {
EMULATOR_API aclError aclrtCreateStream(aclrtStream* stream) { return create(stream); }
EMULATOR_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) { return create(stream); }
EMULATOR_API aclError aclrtDestroyStream(aclrtStream stream) {
  delete stream_of(stream);
  return 0;
}
EMULATOR_API aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }
EMULATOR_API aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) { return *id = stream ? stream_of(stream)->id : 0, 0; }
EMULATOR_API aclError aclrtStreamQuery(aclrtStream, aclrtStreamStatus* status) {
  *status = ACL_STREAM_STATUS_COMPLETE;
  return admit("aclrtStreamQuery");
}
EMULATOR_API aclError aclrtSynchronizeStream(aclrtStream stream) { return wait("aclrtSynchronizeStream", stream_of(stream)); }
EMULATOR_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) { return wait("aclrtSynchronizeStream", stream_of(stream)); }
EMULATOR_API aclError aclrtSynchronizeDevice() { return wait("aclrtSynchronizeDevice", nullptr); }
EMULATOR_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t) { return wait("aclrtSynchronizeDevice", nullptr); }
EMULATOR_API aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return 0; }
EMULATOR_API aclError aclrtSetStreamAttribute(aclrtStream, aclrtStreamAttr, aclrtStreamAttrValue*) { return 0; }
EMULATOR_API aclError aclrtSetStreamOverflowSwitch(aclrtStream, uint32_t) { return 0; }
EMULATOR_API aclError aclrtGetStreamOverflowSwitch(aclrtStream, uint32_t* flag) { return *flag = 0, 0; }

EMULATOR_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) { return *event = new Event, 0; }
EMULATOR_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) { return *event = new Event, 0; }
EMULATOR_API aclError aclrtDestroyEvent(aclrtEvent event) {
  delete event_of(event);
  return 0;
}
EMULATOR_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  event_of(event)->recorded_ms = now_ms();
  event_of(event)->capturing = stream ? stream_of(stream)->capturing : nullptr;
  return 0;
}
EMULATOR_API aclError aclrtResetEvent(aclrtEvent, aclrtStream) { return 0; }
EMULATOR_API aclError aclrtSynchronizeEvent(aclrtEvent) { return wait("aclrtSynchronizeEvent", nullptr); }
EMULATOR_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  // A stream that waits for a captured event joins the capture.
  if (stream && event_of(event)->capturing) stream_of(stream)->capturing = event_of(event)->capturing;
  return 0;
}
EMULATOR_API aclError aclrtQueryEventStatus(aclrtEvent, aclrtEventRecordedStatus* status) { return *status = ACL_EVENT_RECORDED_STATUS_COMPLETE, 0; }
EMULATOR_API aclError aclrtQueryEventWaitStatus(aclrtEvent, aclrtEventWaitStatus* status) { return *status = ACL_EVENT_WAIT_STATUS_COMPLETE, 0; }
EMULATOR_API aclError aclrtEventElapsedTime(float* elapsed_ms, aclrtEvent from, aclrtEvent to) {
  *elapsed_ms = event_of(to)->recorded_ms - event_of(from)->recorded_ms;
  return 0;
}
EMULATOR_API aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* microseconds) { return *microseconds = event_of(event)->recorded_ms * 1000, 0; }

EMULATOR_API aclError aclrtProcessReport(int32_t) {
  usleep(1000);
  return 0;
}
EMULATOR_API aclError aclrtSubscribeReport(uint64_t, aclrtStream) { return 0; }
EMULATOR_API aclError aclrtUnSubscribeReport(uint64_t, aclrtStream) { return 0; }
EMULATOR_API aclError aclrtLaunchCallback(aclrtCallback callback, void* data, aclrtCallbackBlockType, aclrtStream stream) {
  submit(stream, [=] { callback(data); });
  return 0;
}
}
