import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDeployedDisk } from '#agent/boot/find-deployed-disk.ts';
import type { AgentContext } from '#agent/context.ts';
import { findBootChoice, findLostRoot, partitionOf } from '#agent/kexec/find-boot-choice.ts';
import type { BootPath } from '#agent/kexec/grub-menu.ts';
import { notUnderstood } from '#agent/kexec/grub-script.ts';
import { mountForGrub } from '#agent/kexec/grub-view.ts';
import { appendImageFile } from '#agent/kexec/read-image-file.ts';
import { readSystemVendor } from '#agent/machine/inventory-system.ts';
import { withMounted } from '#agent/storage/file-systems/mount.ts';
import { listBlockDevices, type ProbedPartition } from '#agent/storage/lsblk.ts';
import { readArrays, stopArray } from '#agent/storage/mdadm.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

type Context = Pick<AgentContext, 'run' | 'node' | 'writtenImage'>;

/** The system that the machine goes into. */
export interface LoadedSystem {
  /** The title of the boot loader's entry. */
  readonly entry: string;
  readonly kernel: string;
  readonly initrds: readonly string[];
  readonly commandLine: string;
}

const maxKernelBytes = 128 * 1024 * 1024;
/** All of them together; twice that is in memory for a moment. */
const maxInitrdBytes = 512 * 1024 * 1024;

/**
 * Loads the deployed system's own kernel, with the initrd and the command line that its boot loader would give it, and
 * leaves its disks alone: nothing mounted, arrays stopped, all written. A second call takes the first one's place.
 * @throws AppError `not_supported` on a machine that is known not to bear it, and where it can't be known what the boot
 * loader would start; `not_found`; `command_failed`
 * with the kernel's reason, such as a signature that Secure Boot asks for
 */
export async function loadSystem(context: Context): Promise<LoadedSystem> {
  const { partitions } = await findDeployedDisk(context);
  const loaded = await loadKernel(context.run, partitions);
  await leaveDisks(context.run);
  return loaded;
}

/** @param sysRoot differs only in tests */
export async function loadKernel(
  run: Run,
  partitions: readonly ProbedPartition[],
  sysRoot = '/sys',
): Promise<LoadedSystem> {
  await refuseQuirks(sysRoot);
  const { partition, title, kernel, initrds, commandLine: asked } = await findBootChoice(run, partitions, sysRoot);
  const commandLine = completeCommandLine(asked, partitions);
  const folder = await mkdtemp(join(tmpdir(), 'baton-kexec-'));
  const file = (name: string): string => join(folder, name);
  try {
    const copy = ({ device, path, part }: BootPath, to: Parameters<typeof appendImageFile>[2]): Promise<number> => {
      const on = partitionOf(device, partitions, partition);
      return withMounted(run, on.name, mountForGrub(on), (root) =>
        appendImageFile(root, path, part ? { ...to, part } : to),
      );
    };
    await copy(kernel, { file: file('kernel'), maxBytes: maxKernelBytes, multipleOf: 1 });
    let left = maxInitrdBytes;
    for (const initrd of initrds) left -= await copy(initrd, { file: file('initrd'), maxBytes: left, multipleOf: 4 });
    const initrd = initrds.length > 0 ? [`--initrd=${file('initrd')}`] : [];
    // by the system call that checks signatures where Secure Boot is on
    await run('kexec', ['-s', '-l', file('kernel'), ...initrd, `--command-line=${commandLine}`]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return { entry: title, kernel: kernel.path, initrds: initrds.map(({ path }) => path), commandLine };
}

/** A kernel that panics restarts through the firmware, as nobody else may be there to see it. */
const panicSeconds = 30;

/** Pure. @throws AppError `not_supported` for a root file system that the disk does not have */
export function completeCommandLine(asked: string, partitions: readonly ProbedPartition[]): string {
  if (/\p{Cc}/u.test(asked)) throw notUnderstood('its command line has control characters');
  const lost = findLostRoot(asked, partitions);
  if (lost !== undefined) throw notUnderstood(`its ${lost} is not a file system of the written disk`);
  return /(?:^|\s)panic=/.test(asked) ? asked : `${asked} panic=${panicSeconds}`.trim();
}

/** The other system finds them as after a shutdown. */
async function leaveDisks(run: Run): Promise<void> {
  await run('sync', [], { timeoutMs: 600_000 });
  for (const { device } of await readArrays(run)) {
    try {
      await stopArray(run, device);
    } catch (cause) {
      throw new AppError('storage_error', `stop ${device} before another system takes it over`, { cause });
    }
  }
  for (const { name } of await listBlockDevices(run)) await run('blockdev', ['--flushbufs', name]);
}

/** Machines that don't come up by kexec, or not whole, until they have been off, as their users report. */
const quirks: readonly { readonly maker: RegExp; readonly product: RegExp; readonly what: string }[] = [
  { maker: /^(HP|Hewlett)/i, product: /EliteDesk/i, what: 'its PCI bridges fail' },
  { maker: /^(HP|Hewlett)/i, product: /\bZ2\b.*\bG4\b/i, what: 'its network card finds no link' },
  { maker: /VMware/i, product: /ARM|VBSA/i, what: 'its devices fail' },
  { maker: /Raspberry Pi/i, product: /./, what: 'its firmware has to start it' },
];

/** @throws AppError `not_supported` on such a machine @param sysRoot differs only in tests */
async function refuseQuirks(sysRoot: string): Promise<void> {
  const { manufacturer, product_name: name } = await readSystemVendor({ sys: sysRoot });
  const quirk = quirks.find(({ maker, product }) => maker.test(manufacturer) && product.test(name));
  if (!quirk) return;
  throw new AppError('not_supported', `${manufacturer} ${name} does not come up whole by kexec: ${quirk.what}`);
}
