"""One small protocol over cpu, cuda and npu; ``open_device`` gives the one that was asked for, never another."""
