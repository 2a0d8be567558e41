import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { run, start } from '#shared/process/run.ts';

/** Why QEMU runs as it does, for the operator's eyes. */
export interface Accelerator {
  readonly kind: 'kvm' | 'tcg';
  readonly reason: string;
}

const Remembered = z.object({ bootId: z.string(), kind: z.enum(['kvm', 'tcg']), reason: z.string() });
const limitMs = 10_000;
const greeting = 'BATON-GUEST-RUNS';

/**
 * KVM when a guest really runs with it, else TCG. `/dev/kvm` alone proves nothing: on some hosts it opens and stock
 * guests hang. So a kernel with a minimal initrd has ten seconds to say hello. The answer is kept until the host boots
 * again.
 */
export async function chooseAccelerator(kernel: string, directory = 'build/lab'): Promise<Accelerator> {
  if (!existsSync('/dev/kvm')) return { kind: 'tcg', reason: 'there is no /dev/kvm' };
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const memory = join(directory, 'accelerator.json');
  if (existsSync(memory)) {
    const remembered = Remembered.safeParse(JSON.parse(readFileSync(memory, 'utf8')));
    if (remembered.success && remembered.data.bootId === bootId) return remembered.data;
  }
  const outcome = await tryKvm(kernel, resolve(directory, 'kvm-probe'));
  const accelerator: Accelerator = {
    runs: { kind: 'kvm', reason: 'a probe guest ran with KVM' } as const,
    hangs: { kind: 'tcg', reason: `a probe guest hung with KVM for ${limitMs / 1000} s` } as const,
    'ends at once': { kind: 'tcg', reason: 'QEMU with KVM ended before its probe guest ran' } as const,
  }[outcome];
  writeFileSync(memory, JSON.stringify({ bootId, ...accelerator }));
  return accelerator;
}

async function tryKvm(kernel: string, directory: string): Promise<'runs' | 'hangs' | 'ends at once'> {
  mkdirSync(join(directory, 'bin'), { recursive: true });
  copyFileSync('/bin/busybox', join(directory, 'bin/busybox'));
  writeFileSync(join(directory, 'init'), `#!/bin/busybox sh\necho ${greeting}\n/bin/busybox poweroff -f\n`);
  chmodSync(join(directory, 'init'), 0o755);
  await run('cpio', ['--quiet', '--create', '--format=newc', '--file=initrd'], {
    cwd: directory,
    input: 'bin\nbin/busybox\ninit\n',
  });
  const guest = start(
    'qemu-system-x86_64',
    [
      ['-accel', 'kvm', '-cpu', 'host', '-machine', 'q35', '-m', '256', '-nodefaults', '-display', 'none'],
      ['-kernel', kernel, '-initrd', join(directory, 'initrd'), '-append', 'console=ttyS0 quiet panic=-1'],
      ['-serial', 'stdio', '-no-reboot'],
    ].flat(),
  );
  let output = '';
  guest.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('latin1');
    if (output.includes(greeting)) guest.kill('SIGKILL');
  });
  guest.stderr.resume();
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    guest.kill('SIGKILL');
  }, limitMs);
  await guest.exited.finally(() => clearTimeout(timer));
  rmSync(directory, { recursive: true, force: true });
  if (output.includes(greeting)) return 'runs';
  return hangs ? 'hangs' : 'ends at once';
}
