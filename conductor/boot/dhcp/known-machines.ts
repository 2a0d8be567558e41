import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DhcpConfig } from '#conductor/boot/dhcp/dhcp-settings.ts';
import type { PeriodicTask } from '#conductor/kernel/wake-loop.ts';

const lookMs = 2000;

/** dnsmasq reads each file that is put there, by inotify. */
export const knownMachinesDirectory = ({ directory }: Pick<DhcpConfig, 'directory'>): string =>
  join(directory, 'known');

/** Must be there before dnsmasq starts. */
export async function makeKnownMachinesDirectory(config: DhcpConfig): Promise<void> {
  await mkdir(knownMachinesDirectory(config), { recursive: true, mode: 0o755 });
}

/**
 * Has dnsmasq know the machines with these MAC addresses, those of all ports. One whose port is deleted stays known until dnsmasq starts again
 * (dnsmasq(8), --dhcp-hostsdir).
 */
export function listKnownMachines(config: DhcpConfig, listAddresses: () => Promise<string[]>): PeriodicTask {
  const directory = knownMachinesDirectory(config);
  const fixed = new Set(config.hosts.map(({ mac }) => mac));
  let written: string | undefined;
  return {
    name: 'list known machines',
    periodMs: lookMs,
    run: async () => {
      // one with a fixed address is known by that, which a second line might take from it
      const addresses = (await listAddresses()).filter((address) => !fixed.has(address));
      const text = addresses.map((address) => `${address}\n`).join('');
      if (text === written) return;
      // dnsmasq passes over names that begin with a dot
      const unfinished = join(directory, '.machines');
      await writeFile(unfinished, text, { mode: 0o644 });
      await rename(unfinished, join(directory, 'machines'));
      written = text;
    },
  };
}
