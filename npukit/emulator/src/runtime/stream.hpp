#pragma once
#include <functional>
#include <memory>
#include <vector>

namespace emulator {

// What a captured stream did; run again from start to end by aclmdlRIExecuteAsync.
struct Graph {
  std::vector<std::function<void()>> work;
};

struct Stream {
  int id;
  Graph* capturing = nullptr;
};

struct Event {
  double recorded_ms = 0;
  Graph* capturing = nullptr;  // the capture that the recording stream was in
};

}  // namespace emulator
