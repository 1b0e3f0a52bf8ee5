"""Run the real torch_npu without an NPU: CANN's libraries on host memory, computing with ATen's CPU kernels.

torch_npu's own wheel is not changed. What runs is its dispatcher, allocator, streams and every one of its
operator calls; what answers is ``libascendcl.so`` and ``libopapi.so`` built from ``src/``. Nothing that was
measured this way says anything about a card's speed, and little about its arithmetic: it is labelled emulated
everywhere.
"""
