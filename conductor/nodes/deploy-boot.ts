import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

export type DeployBoot = 'reboot' | 'kexec';

/**
 * How a deploy ends: the machine starts from its disk, or goes from the ramdisk into the written system without its
 * firmware. `instance_info.deploy_boot`, which is for one deploy, over `driver_info.deploy_boot`; else a reboot.
 * @throws AppError `invalid_argument` for another value
 */
export function deployBootOf(node: Pick<NodeRow, 'instanceInfo' | 'driverInfo'>): DeployBoot {
  for (const [place, document] of [
    ['instance_info', node.instanceInfo],
    ['driver_info', node.driverInfo],
  ] as const) {
    const value = document['deploy_boot'];
    if (value === 'reboot' || value === 'kexec') return value;
    if (value !== undefined && value !== null) {
      throw new AppError('invalid_argument', `${place}.deploy_boot: it must be reboot or kexec`);
    }
  }
  return 'reboot';
}
