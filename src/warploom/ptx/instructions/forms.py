"""Modifiers that the common instructions take, as the ISA's syntax boxes have them (PTX ISA 9.1, section of each row).

A line of `_FORMS` is one syntax box: `name needed... [optional...] : types`. The name is an opcode or a row of the instruction
table. Words joined by `|` are one place, which takes one of them. Types stand in their order, with dots between them; `-` is
none, `*` any. ptxas takes modifiers other than types in any order, so their order says nothing here. Instructions without a line
are not looked at: textures, video, bulk copies, `tcgen05` and the like.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product

from warploom.ptx.instructions.lookup import TYPES, find_row
from warploom.ptx.instructions.rows import Row
from warploom.ptx.syntax import Instruction

_NAMES = {
    "I": "u8|u16|u32|u64|s8|s16|s32|s64",
    "INT": "u16 u32 u64 s16 s32 s64",
    "BITS": "b16 b32 b64",
    "MEM": "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64",
    "SEM": "relaxed|acquire|release|acq_rel",
    "SCOPE": "cta|cluster|gpu|sys",
    "BARRIERS": "shared|shared::cta|shared::cluster",
    "SPACE": "global|shared|shared::cta|shared::cluster|local",
    "PREFETCHED": "L2::64B|L2::128B|L2::256B",
    "RESTRICT": "sync_restrict::shared::cta|sync_restrict::shared::cluster",
    "RND": "rn|rz|rm|rp",
    "HINTS": "L2::cache_hint L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"
    " L2::evict_normal|L2::evict_first|L2::evict_last",
    "SIGNED": "eq|ne|lt|le|gt|ge",
    "UNSIGNED": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "F8": "e4m3|e5m2",
    "I8": "s8|u8",
    "I4": "s4|u4",
    "PAIRS": "e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2",
    "FOURS": "e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4",
    **{f"WIDE{k}": "|".join(f"m64n{n}k{k}" for n in range(8, 257, 8)) for k in (8, 16, 32)},
    **{f"WHOLE{k}": "|".join(f"m64n{n}k{k}" for n in (8, 16, 24, *range(32, 257, 16))) for k in (32, 256)},
    "REAL": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
}

_FORMS = """
add : u16 u32 u64 s16 s64 u16x2 s16x2
add [sat] : s32
add [cc] : u32 s32 u64 s64
add [{RND} ftz sat] : f32
add [{RND} ftz] : f32x2
add [{RND}] : f64
add [rn ftz sat] : f16 f16x2
add [rn] : bf16 bf16x2
add [{RND} sat] : f32.f16 f32.bf16
sub : u16 u32 u64 s16 s64
sub [sat] : s32
sub [cc] : u32 s32 u64 s64
sub [{RND} ftz sat] : f32
sub [{RND} ftz] : f32x2
sub [{RND}] : f64
sub [rn ftz sat] : f16 f16x2
sub [rn] : bf16 bf16x2
sub [{RND} sat] : f32.f16 f32.bf16
addc [cc] : u32 s32 u64 s64
subc [cc] : u32 s32 u64 s64
mul lo|hi : {INT}
mul wide : u16 u32 s16 s32
mul [{RND} ftz sat] : f32
mul [{RND} ftz] : f32x2
mul [{RND}] : f64
mul [rn ftz sat] : f16 f16x2
mul [rn] : bf16 bf16x2
mad lo|hi : {INT}
mad wide : u16 u32 s16 s32
mad hi sat : s32
mad lo|hi cc : u32 s32 u64 s64
mad {RND} [ftz sat] : f32
mad {RND} : f64
madc lo|hi [cc] : u32 s32 u64 s64
fma {RND} [ftz sat] : f32
fma {RND} [ftz] : f32x2
fma {RND} : f64
fma rn [ftz sat|relu] : f16 f16x2
fma rn [oob sat|relu] : f16 f16x2
fma rn [oob relu] : bf16 bf16x2
fma {RND} [sat] : f32.f16 f32.bf16
mul24 lo|hi : u32 s32
mad24 lo|hi : u32 s32
mad24 hi sat : s32
sad : {INT}
div : {INT}
div approx|full [ftz] : f32
div {RND} [ftz] : f32
div {RND} : f64
rem : {INT}
abs : s16 s32 s64 f64 bf16 bf16x2
abs [ftz] : f32 f16 f16x2
neg : s16 s32 s64 f64 bf16 bf16x2
neg [ftz] : f32 f16 f16x2
min : {INT} u16x2 s16x2 f64
min [relu] : s16x2 s32
min [ftz NaN xorsign abs] : f32 f16 f16x2
min [NaN xorsign abs] : bf16 bf16x2
max : {INT} u16x2 s16x2 f64
max [relu] : s16x2 s32
max [ftz NaN xorsign abs] : f32 f16 f16x2
max [NaN xorsign abs] : bf16 bf16x2
popc : b32 b64
clz : b32 b64
bfind [shiftamt] : u32 u64 s32 s64
brev : b32 b64
bfe : u32 u64 s32 s64
bfi : b32 b64
fns : b32
szext clamp|wrap : u32 s32
bmsk clamp|wrap : b32
dp4a : u32.u32 u32.s32 s32.u32 s32.s32
dp2a lo|hi : u32.u32 u32.s32 s32.u32 s32.s32
testp finite|infinite|number|notanumber|normal|subnormal : f32 f64
copysign : f32 f64
rcp approx [ftz] : f32
rcp {RND} [ftz] : f32
rcp {RND} : f64
rcp approx ftz : f64
sqrt approx [ftz] : f32
sqrt {RND} [ftz] : f32
sqrt {RND} : f64
rsqrt approx [ftz] : f32 f64
sin approx [ftz] : f32
cos approx [ftz] : f32
lg2 approx [ftz] : f32
ex2 approx [ftz] : f32
ex2 approx : f16 f16x2
ex2 approx ftz : bf16 bf16x2
tanh approx : f32 f16 f16x2 bf16 bf16x2
setp eq|ne : b16 b32 b64
setp {UNSIGNED} : u16 u32 u64
setp {SIGNED} : s16 s32 s64
setp {REAL} [ftz] : f32 f16 f16x2
setp {REAL} : f64 bf16 bf16x2
setp eq|ne and|or|xor : b16 b32 b64
setp {UNSIGNED} and|or|xor : u16 u32 u64
setp {SIGNED} and|or|xor : s16 s32 s64
setp {REAL} and|or|xor [ftz] : f32 f16 f16x2
setp {REAL} and|or|xor : f64 bf16 bf16x2
selp : {BITS} {INT} f32 f64
and : pred {BITS}
or : pred {BITS}
xor : pred {BITS}
not : pred {BITS}
cnot : {BITS}
lop3 : b32
lop3 and|or : b32
shf l|r clamp|wrap : b32
shl : {BITS}
shr : {BITS} {INT}
mov : {BITS} {INT} f32 f64 pred b128
prmt [f4e|b4e|rc8|ecl|ecr|rc16] : b32
cvta global|shared|shared::cta|shared::cluster|local|const|param|param::entry [to] : u32 u64
ld [weak {SPACE}|const|param|param::entry|param::func ca|cg|cs|lu|cv {PREFETCHED} unified v2|v4|v8 {HINTS}] : {MEM} b128
ld volatile [{SPACE}|const|param|param::entry|param::func {PREFETCHED} v2|v4|v8] : {MEM} b128
ld relaxed|acquire {SCOPE} [{SPACE} {PREFETCHED} v2|v4|v8 {HINTS}] : {MEM} b128
ld mmio relaxed sys [global] : {MEM}
ld nc global [ca|cg|cs {PREFETCHED} v2|v4|v8 {HINTS}] : {MEM} b128
ldu [global v2|v4] : {MEM} b128
st [weak {SPACE}|param::func|param wb|cg|cs|wt v2|v4|v8 {HINTS}] : {MEM} b128
st volatile [{SPACE}|param::func v2|v4|v8] : {MEM} b128
st relaxed|release {SCOPE} [{SPACE} v2|v4|v8 {HINTS}] : {MEM} b128
st mmio relaxed sys [global] : {MEM}
atom and|or|xor [{SEM} {SCOPE} {SPACE} L2::cache_hint] : b32 b64
atom exch|cas [{SEM} {SCOPE} {SPACE} L2::cache_hint] : b32 b64 b128
atom cas [{SEM} {SCOPE} {SPACE} L2::cache_hint] : b16
atom add [{SEM} {SCOPE} {SPACE} L2::cache_hint] : u32 s32 u64 f32 f64
atom inc|dec [{SEM} {SCOPE} {SPACE} L2::cache_hint] : u32
atom min|max [{SEM} {SCOPE} {SPACE} L2::cache_hint] : u32 s32 u64 s64
atom add noftz [{SEM} {SCOPE} {SPACE} L2::cache_hint] : f16 f16x2 bf16 bf16x2
atom add v2|v4|v8 [{SEM} {SCOPE} global L2::cache_hint] : f32
atom add|min|max noftz v2|v4|v8 [{SEM} {SCOPE} global L2::cache_hint] : f16 f16x2 bf16 bf16x2
st.async [*] : *
st.bulk [*] : *
red.async [*] : *
red and|or|xor [relaxed|release {SCOPE} {SPACE} L2::cache_hint] : b32 b64
red add [relaxed|release {SCOPE} {SPACE} L2::cache_hint] : u32 s32 u64 f32 f64
red inc|dec [relaxed|release {SCOPE} {SPACE} L2::cache_hint] : u32
red min|max [relaxed|release {SCOPE} {SPACE} L2::cache_hint] : u32 s32 u64 s64
red add noftz [relaxed|release {SCOPE} {SPACE} L2::cache_hint] : f16 f16x2 bf16 bf16x2
red add v2|v4|v8 [relaxed|release {SCOPE} global L2::cache_hint] : f32
red add|min|max noftz v2|v4|v8 [relaxed|release {SCOPE} global L2::cache_hint] : f16 f16x2 bf16 bf16x2
ldmatrix sync aligned m8n8 x1|x2|x4 [trans shared|shared::cta] : b16
ldmatrix sync aligned m16n16|m8n16 [*] : *
shfl up|down|bfly|idx [sync] : b32
vote all|any|uni [sync] : pred
vote ballot [sync] : b32
match any sync : b32 b64
match all sync : b32 b64
redux sync add|min|max : u32 s32
redux sync and|or|xor : b32
redux sync min|max [abs NaN] : f32
activemask : b32
elect sync : -
bar.sync [cta] : -
bar.arrive [cta] : -
bar.red popc [cta] : u32
bar.red and|or [cta] : pred
bar.warp.sync : -
barrier.cluster.arrive [release|relaxed aligned] : -
barrier.cluster.wait [acquire aligned] : -
barrier.sync [cta aligned] : -
barrier.arrive [cta aligned] : -
barrier.red popc [cta aligned] : u32
barrier.red and|or [cta aligned] : pred
mbarrier.init [shared|shared::cta] : b64
mbarrier.inval [shared|shared::cta] : b64
mbarrier.expect_tx [relaxed {SCOPE} {BARRIERS}] : b64
mbarrier.complete_tx [relaxed {SCOPE} {BARRIERS}] : b64
mbarrier.arrive [release|relaxed {SCOPE} {BARRIERS} noComplete] : b64
mbarrier.arrive.expect_tx [release|relaxed {SCOPE} {BARRIERS}] : b64
mbarrier.arrive_drop [release|relaxed {SCOPE} {BARRIERS} noComplete] : b64
mbarrier.arrive_drop.expect_tx [release|relaxed {SCOPE} {BARRIERS}] : b64
mbarrier.test_wait [parity acquire|relaxed {SCOPE} shared|shared::cta] : b64
mbarrier.try_wait [parity acquire|relaxed {SCOPE} shared|shared::cta] : b64
mbarrier.pending_count : b64
mapa [shared::cluster] : u32 u64
getctarank [shared::cluster] : u32 u64
griddepcontrol launch_dependents|wait : -
setmaxnreg inc|dec sync aligned : u32
pmevent [mask] : -
membar cta|gl|sys : -
membar proxy [*] : -
fence {SCOPE} [sc|acq_rel|acquire|release] : -
fence acquire|release cluster {RESTRICT} : -
fence mbarrier_init release cluster : -
fence proxy alias : -
fence proxy async [global|shared|shared::cta|shared::cluster] : -
fence proxy tensormap::generic|async::generic acquire|release {SCOPE} [{RESTRICT}] : -
cp.async ca|cg shared|shared::cta global [L2::cache_hint {PREFETCHED}] : -
cp.async.mbarrier.arrive [noinc shared|shared::cta] : b64
cp.async.commit_group : -
cp.async.wait_group : -
cp.async.wait_all : -
prefetch L1|L2 [global|local] : -
prefetch L2::evict_last|L2::evict_normal [global] : -
prefetch tensormap [const|param|global] : -
prefetchu L1 : -
isspacep global|shared|shared::cta|shared::cluster|local|const|param|param::entry : -
mma sync aligned m8n8k4 row|col row|col : f16.f16.f16.f16 f32.f16.f16.f16|f32
mma sync aligned m16n8k8|m16n8k16 row col : f16.f16.f16.f16 f32.f16.f16.f32 f32.bf16.bf16.f32
mma sync aligned m16n8k4|m16n8k8 row col : f32.tf32.tf32.f32
mma sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col [{RND}] : f64.f64.f64.f64
mma sync aligned m16n8k16|m16n8k32 row col : f32.{F8}.{F8}.f32 f16.{F8}.{F8}.f16
mma sync aligned m8n8k16|m16n8k16|m16n8k32 row col [satfinite] : s32.{I8}.{I8}.s32
mma sync aligned m8n8k32|m16n8k32|m16n8k64 row col [satfinite] : s32.{I4}.{I4}.s32
mma sync aligned m8n8k128|m16n8k128|m16n8k256 row col xor|and popc : s32.b1.b1.s32
mma sync aligned kind::f8f6f4|kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4 [*] : *
mma.sp sync aligned [*] : *
wgmma.mma_async sync {WIDE8} [aligned] : f32.tf32.tf32
wgmma.mma_async sync {WIDE16} [aligned] : f16|f32.f16.f16 f32.bf16.bf16
wgmma.mma_async sync {WIDE32} [aligned] : f16|f32.{F8}.{F8}
wgmma.mma_async sync {WHOLE32} [aligned satfinite] : s32.{I8}.{I8}
wgmma.mma_async sync {WHOLE256} and popc [aligned] : s32.b1.b1
wgmma.mma_async.sp sync aligned [*] : *
wgmma.fence sync [aligned] : -
wgmma.commit_group sync [aligned] : -
wgmma.wait_group sync [aligned] : -
stmatrix sync aligned m8n8 x1|x2|x4 [trans shared|shared::cta] : b16
stmatrix sync aligned m16n8 x1|x2|x4 trans [shared|shared::cta] : b8
movmatrix sync aligned m8n8 trans : b16
cvt [sat] : {I}.{I}
cvt rni|rzi|rmi|rpi [ftz sat] : {I}.f32
cvt rni|rzi|rmi|rpi [sat] : {I}.f16|bf16|f64
cvt {RND} [ftz sat] : f32.{I}
cvt {RND} [sat] : f16|bf16|f64.{I}
cvt [rni|rzi|rmi|rpi ftz sat] : f32.f32
cvt [rni|rzi|rmi|rpi sat] : f16.f16 bf16.bf16 f64.f64
cvt [ftz sat] : f32.f16 f32.bf16 f64.f32
cvt [sat] : f64.f16 f64.bf16
cvt {RND} [ftz sat] : f16.f32 bf16.f32 f32.f64
cvt {RND} [sat] : f16.f64 bf16.f64
cvt [{RND} sat] : f16.bf16 bf16.f16 f32.bf16 f64.bf16
cvt rn|rz [relu satfinite] : f16.f32 bf16.f32 f16x2.f32 bf16x2.f32 tf32.f32
cvt rs [relu satfinite] : f16x2.f32 bf16x2.f32
cvt rna [satfinite] : tf32.f32
cvt rn satfinite [relu] : {PAIRS}.f32|f16x2|bf16x2
cvt rn [relu] : f16x2|bf16x2.{PAIRS}
cvt rs satfinite [relu] : {FOURS}.f32
cvt rz|rp [satfinite] : ue8m0x2.f32|bf16x2
cvt rn : bf16x2.ue8m0x2
cvt.pack sat : u16.s32 s16.s32 u8.s32.b32 s8.s32.b32 u4.s32.b32 s4.s32.b32 u2.s32.b32 s2.s32.b32
set eq|ne [and|or|xor] : u32|s32|f32.b16|b32|b64
set {UNSIGNED} [and|or|xor] : u32|s32|f32.u16|u32|u64
set {SIGNED} [and|or|xor] : u32|s32|f32.s16|s32|s64
set {REAL} [and|or|xor ftz] : u32|s32|f32.f32 u16|s16|u32|s32.f16 f16x2|u32|s32.f16x2
set {REAL} [and|or|xor] : u32|s32|f32.f64 u16|s16|u32|s32.bf16 bf16x2|u32|s32.bf16x2
set {REAL} [and|or|xor ftz] : f16|bf16.b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|bf16|f32|f64
slct : b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64.s32
slct [ftz] : b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64.f32
nanosleep : u32
bra [uni] : -
ret [uni] : -
exit : -
trap : -
brkpt : -
"""


_UNJUDGED = re.compile(r"s2f6|scaled::")
"""The newest conversions, which no compiler of ours can be asked about."""


@dataclass(frozen=True, slots=True)
class Form:
    """One syntax box."""

    needed: tuple[frozenset[str], ...]
    optional: tuple[frozenset[str], ...]
    types: frozenset[tuple[str, ...]]
    """Each a sequence of types; ("*",): any."""

    def takes(self, words: Sequence[str], types: tuple[str, ...]) -> bool:
        """Whether the modifiers, apart from their order, are ones of this form."""
        left = list(words)
        for place in self.needed:
            found = next((w for w in left if w in place), None)
            if found is None:
                return False
            left.remove(found)
        if _ANY in self.optional:
            left.clear()
        for place in self.optional:
            found = next((w for w in left if w in place), None)
            if found is not None:
                left.remove(found)
        return not left and (types in self.types or ("*",) in self.types)


_ANY = frozenset({"*"})


def _read(line: str) -> tuple[str, Form]:
    head, _, types = line.format(**_NAMES).partition(" : ")
    needed, _, optional = head.rstrip("]").partition("[")
    name, *places = needed.split()
    return name, Form(
        tuple(frozenset(p.split("|")) for p in places),
        tuple(frozenset(p.split("|")) for p in optional.split()),
        frozenset(chain.from_iterable(_sequences(t) for t in types.split())),
    )


def _sequences(text: str) -> list[tuple[str, ...]]:
    return [()] if text == "-" else list(product(*(part.split("|") for part in text.split("."))))


_BY_NAME: dict[str, list[Form]] = {}
for _line in _FORMS.strip().splitlines():
    _name, _form = _read(_line)
    _BY_NAME.setdefault(_name, []).append(_form)
_OPCODES = frozenset(name.partition(".")[0] for name in _BY_NAME)


def has_form(instruction: Instruction) -> bool:
    """Whether PTX has the instruction with these modifiers; True for instructions that have no line here."""
    return _has_form(instruction.opcode, instruction.modifiers, find_row(instruction))


def types_of_forms(instruction: Instruction) -> tuple[str, ...]:
    """The types, in one text each, that the instruction could have with its other modifiers; none where the types are ones of
    the instruction with yet other modifiers."""
    forms, words = _forms_and_words(instruction.opcode, instruction.modifiers, find_row(instruction))
    own = tuple(m for m in instruction.modifiers if m in TYPES)
    if any(own in form.types for form in forms):
        return ()
    found = dict.fromkeys(types for form in forms for types in sorted(form.types) if form.takes(words, types))
    return tuple("." + ".".join(types) if types else "none" for types in found)


@lru_cache(maxsize=4096)
def _has_form(opcode: str, modifiers: tuple[str, ...], row: Row | None) -> bool:
    types = tuple(m for m in modifiers if m in TYPES)
    if opcode not in _OPCODES or (opcode == "cvt" and any(map(_UNJUDGED.match, modifiers))):
        return True
    forms, words = _forms_and_words(opcode, modifiers, row)
    return (not forms and row is not None) or any(form.takes(words, types) for form in forms)


def _forms_and_words(opcode: str, modifiers: tuple[str, ...], row: Row | None) -> tuple[Sequence[Form], list[str]]:
    """The forms of the row, else of the opcode, and the modifiers that are no types and not part of their name."""
    words = [m for m in modifiers if m not in TYPES]
    if row is None or row.name not in _BY_NAME or row.name == opcode:
        return _BY_NAME.get(opcode, ()), words
    for word in row.name.split(".")[1:]:
        if word in words:  # else it is the beginning of a word such as `async::generic`
            words.remove(word)
    return _BY_NAME[row.name], words
