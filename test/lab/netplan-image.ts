import { join } from 'node:path';
import { buildOsImage } from '#image-build/os-image/build-os-image.ts';
import { run } from '#shared/process/run.ts';

/**
 * The demo system with netplan, by which its cloud-init builds what `network_data` says. The demo itself has no use for that,
 * and boots sooner without. Minutes the first time, for packages.
 * @returns the directory, for `imagesDirectory`
 */
export async function buildNetplanImage(say: (line: string) => void): Promise<string> {
  const output = join('build', 'netplan-image');
  const variant = {
    name: 'netplan',
    packages: ['netplan.io'],
    without: ['etc/cloud/cloud.cfg.d/91-no-network.cfg', 'etc/systemd/network/80-dhcp.network'],
  };
  await buildOsImage({ run, say, force: false, refresh: false }, { output, variant });
  return output;
}
