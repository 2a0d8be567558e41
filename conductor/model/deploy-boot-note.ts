import { z } from 'zod';

const Output = z.union([
  z.object({ deploy_boot: z.literal('reboot'), reason: z.string() }),
  z.object({ deploy_boot: z.literal('kexec'), entry: z.string(), kernel: z.string() }),
  z.object({ deploy_boot: z.literal('kexec') }),
  z.object({ ramdisk_boot: z.literal('power'), reason: z.string() }),
  z.object({ ramdisk_boot: z.literal('kexec') }),
]);

/** What operators read of a step that goes from one system into another, where kexec was asked for; `undefined` of all others. Pure. */
export function describeDeployBoot(output: unknown): string | undefined {
  const { data } = Output.safeParse(output);
  if (!data) return undefined;
  if ('ramdisk_boot' in data) {
    return data.ramdisk_boot === 'kexec' ? 'by kexec from the running system' : `not by kexec: ${data.reason}`;
  }
  if (data.deploy_boot === 'reboot') return `a reboot in place of kexec: ${data.reason}`;
  return 'kernel' in data ? `kexec: ${data.kernel} of "${data.entry}" is loaded` : 'went on by kexec';
}
