import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { start } from '#shared/process/run.ts';
import type { LabNode, LabSite } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';

export type PortNetwork = 'tenant' | 'provisioning' | 'none';

/** One change of the machine's switch port, as the switch's own database tells it. */
export interface PortChange {
  readonly at: number;
  readonly network: PortNetwork;
  /** Whether the machine's power was on then. */
  readonly isOn: boolean;
}

/** An access port's VLAN is a number; a set is empty, for a port in no network. */
const Update = z.object({ data: z.array(z.tuple([z.string(), z.string(), z.string().nullable(), z.unknown()])) });

/** Follows the machine's switch port until the lab is closed. @returns all changes so far, which grow */
export function watchPort(site: Pick<LabSite, 'directory' | 'defer'>, node: LabNode): readonly PortChange[] {
  const changes: PortChange[] = [];
  const database = `unix:${join(site.directory.sockets, 'db.sock')}`;
  const monitor = start('ovsdb-client', ['--format=json', 'monitor', database, 'Open_vSwitch', 'Port', 'name,tag'], {
    detached: true,
  });
  monitor.stderr.resume();
  createInterface({ input: monitor.stdout }).on('line', (line) => {
    for (const [, action, name, tag] of Update.parse(JSON.parse(line)).data) {
      if (name !== node.name || action === 'old') continue;
      const network = networkOf(tag);
      // the port's row changes for other reasons, too
      if (changes.at(-1)?.network === network) continue;
      changes.push({ at: Date.now(), network, isOn: node.machine.getPower() === 'on' });
    }
  });
  site.defer(async () => {
    monitor.kill('SIGTERM');
    await monitor.exited;
  });
  return changes;
}

function networkOf(tag: unknown): PortNetwork {
  const { tenant, provisioning } = labAddresses;
  if (tag === tenant.vlan) return 'tenant';
  return tag === provisioning.vlan ? 'provisioning' : 'none';
}
