import { z } from 'zod';

const Output = z.union([
  z.object({ deploy_boot: z.literal('reboot'), reason: z.string() }),
  z.object({ deploy_boot: z.literal('kexec'), entry: z.string(), kernel: z.string() }),
  z.object({ deploy_boot: z.literal('kexec') }),
]);

/** What operators read of a step that parts with the ramdisk, where kexec was asked for; `undefined` of all others. Pure. */
export function describeDeployBoot(output: unknown): string | undefined {
  const { data } = Output.safeParse(output);
  if (!data) return undefined;
  if (data.deploy_boot === 'reboot') return `a reboot in place of kexec: ${data.reason}`;
  return 'kernel' in data ? `kexec: ${data.kernel} of "${data.entry}" is loaded` : 'went on by kexec';
}
