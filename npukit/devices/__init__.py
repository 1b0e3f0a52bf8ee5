"""One small protocol over cpu, cuda and npu."""
