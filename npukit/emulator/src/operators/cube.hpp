// What the cube unit does to its inputs.
#pragma once
#include "abi.hpp"

namespace emulator {

// fp32 inputs, when cubeMathType allows it (1: lower precision allowed, 3: HF32), are cut to HF32: 8 bits of exponent
// and 11 of mantissa, rounded to nearest; 2 takes fp16. Products are summed in fp32, as everywhere.
Tensor rounded(const Tensor& a, int8_t cube_math_type);

}  // namespace emulator
