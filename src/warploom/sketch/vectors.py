"""CUDA's vector types by name, the moving units of the paper's footnote 2."""

from warploom.core import BY_NAME

char2, char4 = BY_NAME["char2"], BY_NAME["char4"]
uchar2, uchar4 = BY_NAME["uchar2"], BY_NAME["uchar4"]
short2, short4 = BY_NAME["short2"], BY_NAME["short4"]
ushort2, ushort4 = BY_NAME["ushort2"], BY_NAME["ushort4"]
int2, int4 = BY_NAME["int2"], BY_NAME["int4"]
uint2, uint4 = BY_NAME["uint2"], BY_NAME["uint4"]
longlong2, longlong4 = BY_NAME["longlong2"], BY_NAME["longlong4"]
ulonglong2, ulonglong4 = BY_NAME["ulonglong2"], BY_NAME["ulonglong4"]
float2, float4 = BY_NAME["float2"], BY_NAME["float4"]
double2, double4 = BY_NAME["double2"], BY_NAME["double4"]
