"""Names of formats that requests may use."""

from typing import Literal

WeightFormatName = Literal[
    "fp32",
    "fp16",
    "bf16",
    "fp8",
    "int8",
    "int4",
    "nvfp4",
    "mxfp4",
    "nf4",
    "q2_k",
    "q3_k_s",
    "q3_k_m",
    "q3_k_l",
    "q4_0",
    "q4_1",
    "q4_k_s",
    "q4_k_m",
    "q5_0",
    "q5_1",
    "q5_k_s",
    "q5_k_m",
    "q6_k",
    "q8_0",
    "iq4_xs",
    "iq3_m",
    "iq2_m",
    "iq1_s",
]
CacheFormatName = Literal["bf16", "fp16", "fp8", "int8", "int4", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]
ActivationFormatName = Literal["bf16", "fp16", "fp8", "int8", "nvfp4"]
PeakName = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp6", "fp4", "nvfp4", "int4"]
StateTypeName = Literal["float32", "bfloat16", "float16"]
StateModeName = Literal["none", "align", "all"]
