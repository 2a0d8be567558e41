import { readFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { readAttribute } from '#agent/hardware/network-interfaces.ts';

export interface CpuInfo {
  readonly model_name: string;
  /** MHz as text; empty when unknown. */
  readonly frequency: string;
  /** Logical processors. */
  readonly count: number;
  /** As `uname -m` says it: `x86_64`. */
  readonly architecture: string;
  readonly flags: readonly string[];
  readonly socket_count: number;
}

const architectures: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64', ppc64: 'ppc64le' };

export async function readCpu(roots: { readonly sys: string; readonly proc: string }): Promise<CpuInfo> {
  const cpuInfo = await readFile(join(roots.proc, 'cpuinfo'), 'utf8');
  const processors = cpuInfo.split('\n\n').filter((block) => /^processor\s*:/m.test(block));
  const field = (block: string, name: string): string => new RegExp(`^${name}\\s*: ?(.*)$`, 'm').exec(block)?.[1] ?? '';
  const first = processors[0] ?? '';
  const sockets = new Set(processors.map((block) => field(block, 'physical id')));
  const maxKhz = await readAttribute(join(roots.sys, 'devices/system/cpu/cpu0/cpufreq'), 'cpuinfo_max_freq');
  return {
    model_name: field(first, 'model name'),
    frequency: maxKhz === null ? field(first, 'cpu MHz') : String(Number(maxKhz) / 1000),
    count: processors.length,
    architecture: architectures[arch()] ?? arch(),
    flags: (field(first, 'flags') || field(first, 'Features')).split(' ').filter(Boolean),
    socket_count: Math.max(1, sockets.size),
  };
}
