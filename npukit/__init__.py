"""npukit brings open models to work on Huawei Ascend NPUs through torch_npu, with proof."""

__version__ = "0.1.0"
