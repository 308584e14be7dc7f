"""Mistakes planted by rule into the text of kernels that have none.

A rule is a pattern and what stands for it afterwards. Each place where it matches is one mistake, so that nobody chooses them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BALANCED = r"\(([^()]*(?:\((?:[^()]|\([^()]*\))*\)[^()]*)*)\)"
_PLACE = r"[\w.]+(?:\[[^\[\]]*(?:\[[^\[\]]*\])?[^\[\]]*\])?"


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    pattern: re.Pattern[str]
    instead: str


def _rules(*rows: tuple[str, str, str]) -> tuple[Rule, ...]:
    return tuple(Rule(name, re.compile(pattern, re.MULTILINE), instead) for name, pattern, instead in rows)


CUDA = _rules(
    ("missing-barrier", r'__sync(?:threads|warp)\(\);|asm volatile\("bar\.(?:sync|arrive) [^;]*;"[^;]*;', ";"),
    ("missing-wait", r'asm volatile\("cp\.async\.wait_group \d;"[^;]*;', ";"),
    ("missing-wait", r"(cp\.async\.wait_group) 0", r"\1 1"),
    ("off-by-one", r"(?<=[\w)\]]) < (?=\w)", " <= "),
    ("off-by-one", r"(?<=[\w)\]]) >= (?=\w)", " > "),
    ("off-by-one", r"\+ 1(?=\])", "+ 2"),
    ("off-by-one", r"- 1(?=\])", "- 2"),
    ("wrong-stride", r"\* ([\w.]+)(?= \+)", r"* (\1 + 1)"),
    ("wrong-stride", r"(?<=\+= )([\w. *]+)(?=\))", r"\1 + 1"),
    ("wrong-mask", r"\bALL\b(?=,)", "0xffffu"),
    ("wrong-mask", r"0xfu", "0x7u"),
    ("wrong-mask", r"& 15", "& 31"),
    ("wrong-mask", r"% 32\b", "% 64"),
    ("swapped-indices", r"(?<!float )(?<!, )\b(\w+)\[([^\[\]]+)\]\[([^\[\]]+)\](?!,|;$)", r"\1[\3][\2]"),
    ("swapped-indices", r"\[(\w+) \* (\w+) \+ (\w+)\]", r"[\3 * \2 + \1]"),
    ("missing-guard", rf"if {_BALANCED} return;", ""),
    ("missing-guard", rf"if {_BALANCED} (?!return)", "if (true) "),
    ("missing-guard", r"(?<== )[^=;?]* \? ([^;?]*) : 0;", r"\1;"),
    ("scope", r"atomic(Add|Exch)\(", r"atomic\1_block("),
    ("scope", rf"atomicAdd\(&({_PLACE}), ([^;]*)\);", r"\1 += \2;"),
    ("scope", rf"atomicExch\(&({_PLACE}), ([^;]*)\);", r"\1 = \2;"),
    ("barrier-count", r"(bar\.(?:sync|arrive) \d), 96", r"\1, 64"),
    ("barrier-count", r"(bar\.(?:sync|arrive) \d), (?:96|64)", r"\1, 128"),
    ("wrong-stage", r"\((\w+) \+ 1\) % 2", r"\1 % 2"),
    ("wrong-swizzle", r"\((\w+) \^ (\w+)\)", r"(\1 + \2)"),
    ("wrong-swizzle", r"\((\w+) \^ (\w+)\)", r"(\1 | \2)"),
    ("wrong-swizzle", r"\((\w+) \^ (\w+)\)", r"\1"),
    ("narrow-index", r"\(long long\)(?=\w+ \*)", ""),
    ("missing-fill", r"< 8(?=; \+\+k\) own\[)", "< 7"),
)  # fmt: skip

PTX = _rules(
    ("missing-barrier", r"(?:bar|barrier)\.(?:warp\.)?sync[^;]*;", ""),
    ("off-by-one", r"setp\.lt\.", "setp.le."),
    ("off-by-one", r"setp\.ge\.", "setp.gt."),
    ("off-by-one", r"setp\.gt\.", "setp.ge."),
    ("off-by-one", r"(?<=[stld]\.global\.f32 )\[(%\w+)\]", r"[\1+4]"),
    ("wrong-stride", r"(mul\.wide\.[su]32 [^;]*), 4;", r"\1, 8;"),
    ("wrong-stride", r"shl\.b32 ([^;]*), 2;", r"shl.b32 \1, 3;"),
    ("wrong-mask", r"(shfl\.[^;]*), -1;", r"\1, 65535;"),
    ("wrong-mask", r"(vote\.[^;]*), -1;", r"\1, 65535;"),
    ("wrong-mask", r"(shfl\.[^;]*), 15;", r"\1, 7;"),
    ("missing-guard", r"@!?%p\d+ bra[^;]*;", ""),
    ("scope", r"\batom\.global", "atom.relaxed.cta.global"),
    ("scope", r"\bred\.global", "red.relaxed.cta.global"),
    ("missing-value", r"mov\.[bufs]32 %\w+, (?:0f00000000|0);", ""),
)  # fmt: skip

ASYNCHRONOUS = _rules(
    ("missing-wait", r"(?:@\S+ )?(?:cp\.async\.bulk|wgmma)\.wait_group[^;]*;", ""),
    ("missing-wait", r"(wait_group\S*) 0", r"\1 1"),
    ("missing-wait", r"mbarrier\.try_wait[^;]*;\n  @!%done bra \w+;", ""),
    ("missing-commit", r"(?:@\S+ )?(?:cp\.async\.bulk|wgmma)\.commit_group[^;]*;", ""),
    ("missing-commit", r"(?:@\S+ )?tcgen05\.commit[^;]*;", ""),
    ("missing-fence", r"wgmma\.fence[^;]*;", ""),
    ("missing-fence", r"fence\.proxy\.async[^;]*;", ""),
    ("missing-arrival", r"(?:@\S+ )?mbarrier\.arrive\.(?:expect_tx\.)?shared[^;]*;", ""),
    ("wrong-bytes", r"(expect_tx[^;]*), (?:256|512);", r"\1, 128;"),
    ("wrong-bytes", r"(expect_tx[^;]*), (?:256|512);", r"\1, 1024;"),
    ("wrong-bytes", r"(cp\.async\.bulk\.shared[^;]*), (?:256|512), ", r"\1, 64, "),
    ("wrong-parity", r"(try_wait[^;]*), 0;", r"\1, 1;"),
    ("wrong-parity", r"(?:@%wraps )?xor\.b32 %phase, %phase, 1;", ""),
    ("wrong-parity", r"mov\.u32 %phase, 1;", "mov.u32 %phase, 0;"),
    ("wrong-parity", r"mov\.u32 %phase, 0;", "mov.u32 %phase, 1;"),
    ("early-store", r"(  (?:@%first )?(?:wgmma|cp\.async\.bulk)\.wait_group[^;]*;\n)((?:.*\n)*?)(  st\.shared[^;]*;\n)",
     r"\3\1\2"),
    ("missing-barrier", r"bar\.sync[^;]*;", ""),
    ("wrong-count", r"(mbarrier\.init[^;]*), 64;", r"\1, 32;"),
)  # fmt: skip
"""Mistakes about copies and products that go on while the thread does."""

TRITON = _rules(
    ("missing-guard", r", mask=(?:[^(),\[\]]|\[[^\]]*\]|\([^()]*\))+(?:, other=[^,]+)?(?=\)$)", ""),
    ("off-by-one", r"(?<=[\w\])]) < (?=\w)", " <= "),
    ("wrong-stride", r"\* (\w+)(?= \+)", r"* (\1 + 1)"),
    ("swapped-indices", r"\bout \+ (\w+) \* (\w+) \+ (\w+)", r"out + \3 * \2 + \1"),
    ("swapped-indices", r"\ba \+ (\w+) \* (\w+) \+ (\w+)", r"a + \3 * \2 + \1"),
    ("scope", r"tl\.atomic_add\((.*)\)$", r"tl.store(\1)"),
    ("scope", r"tl\.atomic_add\((.*)\)$", r'tl.atomic_add(\1, scope="cta")'),
    ("missing-neutral", r", other=(?:[^,()]|\([^()]*\))+(?=\)$)", ""),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Launched:
    """How a kernel is launched."""

    grid: str
    block: str
    arguments: tuple[str, ...]
    constants: tuple[str, ...]


def launched(text: str) -> Launched:
    """`GRID BLOCK ARGUMENT... NAME=VALUE...`"""
    grid, block, *rest = text.split()
    return Launched(grid, block, tuple(t for t in rest if "=" not in t), tuple(t for t in rest if "=" in t))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel without a mistake."""

    name: str
    line: int
    """First line of its text in the file."""
    text: str
    launches: tuple[Launched, ...]


@dataclass(frozen=True, slots=True)
class Bug:
    kernel: Kernel
    rule: str
    line: int
    """In the file."""
    before: str
    after: str
    text: str
    """Text of the kernel with the mistake."""

    @property
    def key(self) -> str:
        """Kernel, line in it, and what becomes of the line."""
        at = self.line - self.kernel.line
        return f"{self.kernel.name}:{at} | {' '.join(self.before.split())} | {' '.join(self.after.split())}"


def planted(kernel: Kernel, rules: tuple[Rule, ...]) -> Iterator[Bug]:
    """All mistakes of the rules, each by itself, in the order of the rules."""
    seen = {kernel.text}
    for rule in rules:
        for match in rule.pattern.finditer(kernel.text):
            text = kernel.text[: match.start()] + match.expand(rule.instead) + kernel.text[match.end() :]
            if text in seen:
                continue
            seen.add(text)
            number = kernel.text.count("\n", 0, match.start())
            before, after = (t.split("\n")[number] for t in (kernel.text, text))
            yield Bug(kernel, rule.name, kernel.line + number, before, after, text)
