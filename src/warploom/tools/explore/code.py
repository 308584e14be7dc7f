"""The file of `warploom explore --code`: the kernels as C or CUDA C++, below a comment that says how they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from warploom.ctext import cuda_type
from warploom.schedule import cpu
from warploom.schedule.backbone import Program, Role
from warploom.schedule.cpu import COMMON, Source, c_program, find_compiler, iterations_text, machine_flags, order_flags
from warploom.schedule.cuda import CudaKernel, cuda_kernel, cuda_program
from warploom.schedule.cuda import Options as CudaOptions
from warploom.schedule.nest import Buffer, Nest, blocks_of
from warploom.schedule.targets import Target
from warploom.tools.explore.entry import Entry, entry_of
from warploom.tools.explore.options import KernelOptions


def code_of(
    program: Program,
    nests: Sequence[Nest],
    sizes: Mapping[str, int],
    options: KernelOptions,
    build: cpu.Build = cpu.Build.DECIDED,
) -> str:
    """All stages in one text."""
    if options.target.kind == "cpu":
        text, sources = c_program(nests)
        entry = entry_of(program, nests, sources, text)
        usage = [*_head(program, sizes, options), *_c_usage(program, nests, sources, build), *_entry_usage(entry)]
        return _comment(usage) + text.replace(_INCLUDE, f"{_INCLUDE}\n#include <stdlib.h>", 1) + f"\n{entry.text}"
    kernels = [cuda_kernel(nest, CudaOptions(arch=arch_of(options.target))) for nest in nests]
    return _comment([*_head(program, sizes, options), *_cuda_usage(program, kernels, options)]) + cuda_program(kernels)


def arch_of(on: Target) -> str:
    """Architecture for which CUDA code for a target is compiled."""
    return on.name if on.name.startswith("sm_") else "sm_80"


_INCLUDE = "#include <stdint.h>"


def _entry_usage(entry: Entry) -> Iterator[str]:
    yield ""
    yield "All of it:"
    yield (
        f"  {entry.declaration};" if len(entry.declaration) < 120 else f"  int {entry.name}(arrays and scalars..., int threads);"
    )
    yield "    0, or -1 where memory lacks. The threads run at the same time if this file is compiled with -fopenmp, too."


def _c_usage(program: Program, nests: Sequence[Nest], sources: Sequence[Source], build: cpu.Build) -> Iterator[str]:
    compiler = find_compiler()
    flags = [f for f in (*COMMON, *machine_flags(), *build.flags) if f not in ("-shared", "-fPIC", "-pthread")]
    yield f"Compiled with: {' '.join(compiler.command) if compiler else 'cc'} {' '.join(flags)} (link with -lm)"
    if order := order_flags(build.flags, compiler):
        yield f"               and {' '.join(order)}: the loops stay as they are"
    if compiler is not None:
        yield f"               {compiler.version}"
    for nest, source in zip(nests, sources, strict=True):
        yield ""
        yield f"{nest.name}:"
        head = f"  void {source.entry}("
        yield f"{head}void *const *arrays, const double *parameters,"
        yield f"{' ' * len(head)}ptrdiff_t begin, ptrdiff_t end, char *scratch)"
        for n, buffer in enumerate(source.buffers):
            yield f"    arrays[{n}]      {_array(program, buffer, cpu.c_type(buffer.dtype))}"
        for n, shares in enumerate(source.common_shares, len(source.buffers)):
            yield f"    arrays[{n}]      {shares.text} bytes aligned to 64, of all threads: parts of sums; need not be cleared"
        for n, parameter in enumerate(nest.parameters):
            yield f"    parameters[{n}]  {parameter.name}, rounded to {cpu.c_type(parameter.dtype)}"
        for n, (size, _) in enumerate(nest.run_time, len(nest.parameters)):
            yield f"    parameters[{n}]  {size.name}, a whole number"
        if not nest.parameters and not nest.run_time:
            yield "    parameters     none: may be NULL"
        yield f"    begin, end     shares of {_shared_loops(nest)}: calls that cover [0, {source.units_text}) together"
        yield "                   make the whole, in any order, at the same time on several threads too"
        if source.scratch_bytes:
            yield f"    scratch        {source.scratch_bytes} bytes aligned to 64 for each thread; need not be cleared"
        else:
            yield "    scratch        none: may be NULL"
        if source.second_entry:
            yield f"  then, when all of that is done, {source.second_entry} with the same arguments:"
            yield f"    begin, end     shares of [0, {source.second_units_text})"
    yield ""
    yield "Arrays are contiguous, the last index varies fastest; alignment to 64 bytes is fastest, that of an element is enough."
    yield "What is written shares no memory with any other array."


def _cuda_usage(program: Program, kernels: Sequence[CudaKernel], options: KernelOptions) -> Iterator[str]:
    arch = next((kernel.arch for kernel in kernels if kernel.has_groups), arch_of(options.target))
    yield f"Compiled with: -arch={arch}{'' if kernels[0].options.contract else ' --fmad=false'}"
    for kernel in kernels:
        yield ""
        yield f"{kernel.name}:"
        yield f"  grid   ({', '.join(kernel.grid_texts)}){_none_at_zero(kernel)}"
        yield f"  block  ({', '.join(map(str, kernel.block))})"
        dynamic = kernel.dynamic_shared_bytes
        more = " (cudaFuncAttributeMaxDynamicSharedMemorySize must allow it)" if dynamic > 48 << 10 else ""
        yield f"  dynamic shared memory  {dynamic} bytes{more}; static {kernel.static_shared_bytes}"
        yield "  arguments, in order:"
        for buffer in kernel.arrays:
            yield f"    {_array(program, buffer, cuda_type(buffer.dtype))}"
        for buffer in kernel.block_arrays:
            elements = buffer.elements * buffer.copies * kernel.blocks
            yield f"    {cuda_type(buffer.dtype)} {buffer.name}_all[{elements}]  room for temporaries"
        for parameter in kernel.parameters:
            yield f"    {cuda_type(parameter.dtype)} {parameter.name}  by value"
        for size, _ in kernel.run_time:
            yield f"    int {size.name}  by value"
    yield ""
    yield "Arrays are contiguous in device memory, the last index varies fastest, and aligned to 16 bytes."
    yield "What is written shares no memory with any other array."


def _head(program: Program, sizes: Mapping[str, int], options: KernelOptions) -> Iterator[str]:
    several = f": {len(program.stages)} kernels, to be called in this order" if len(program.stages) > 1 else ""
    yield f"{program.name} by warploom explore{several}"
    yield f"Sizes: {', '.join(_size(name, n, options) for name, n in sizes.items()) or 'none'}"
    yield f"Target: {options.target.name}" + (f", {options.threads} threads" if options.target.kind == "cpu" else "")


def _array(program: Program, buffer: Buffer, scalar: str) -> str:
    """`const float A[64][32]`, and who fills it."""
    region = program.region(buffer.name)
    opened = {at: length.text for at, length in region.open_lengths}
    index = "".join(f"[{opened.get(at, length)}]" for at, length in enumerate(region.shape))
    match region.role:
        case Role.INPUT:
            return f"const {scalar} {region.name}{index}  input"
        case Role.OUTPUT if buffer.role is Role.OUTPUT:
            return f"{scalar} {region.name}{index}  output"
        case Role.TEMPORARY if buffer.role is Role.OUTPUT:
            return f"{scalar} {region.name}{index}  output, for the next kernel"
        case _:
            return f"const {scalar} {region.name}{index}  made by a kernel before"


def _size(name: str, value: int, options: KernelOptions) -> str:
    if name not in options.run_time:
        return f"{name} = {value}"
    multiple = options.run_time[name]
    return f"{name} known at run time{f', a multiple of {multiple}' if multiple > 1 else ''} (searched for {value})"


def _none_at_zero(kernel: CudaKernel) -> str:
    return "; nothing to launch where that is 0" if any(kernel.open_grid) else ""


def _shared_loops(nest: Nest) -> str:
    blocks = blocks_of(nest)
    names = [f"{loop.name} ({iterations_text([loop])})" for loop in (*blocks.around, *blocks.inner)]
    return f"the block loop{'s' if len(names) > 1 else ''} {' x '.join(names)}" if names else "the whole, which is one"


def _comment(lines: Sequence[str]) -> str:
    text = "\n".join(f" * {line}".rstrip().replace("*/", "* /") for line in lines)
    return f"/*\n{text}\n */\n"
