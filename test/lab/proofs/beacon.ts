import { request } from 'undici';
import { z } from 'zod';
import { tenantAddress } from '#test/lab/dnsmasq.ts';
import type { Lab, LabNode, LabSite } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

const Beacon = z.looseObject({ hostname: z.string(), instance_uuid: z.string(), boot_id: z.string() });

/** Answer of the demo image's beacon about itself, and where it is. */
export interface BeaconAnswer {
  readonly address: string;
  readonly hostname: string;
  readonly instanceUuid: string;
  /** The kernel's: another one after each boot. */
  readonly bootId: string;
}

const beaconPort = 8080;

/**
 * Waits until the machine's own OS has an address on the tenant network and its beacon answers there.
 * @param notBoot the id of a boot whose answers don't count any more
 */
export function waitForBeacon(lab: LabSite, node: LabNode, timeoutMs: number, notBoot?: string): Promise<BeaconAnswer> {
  return waitUntil(
    `the beacon of ${node.name} on the tenant network`,
    async () => {
      const address = tenantAddress(lab.directory, node.machine.mac);
      if (address === undefined) return undefined;
      const response = await request(`http://${address}:${beaconPort}/`, { dispatcher: lab.gate });
      const beacon = Beacon.parse(await response.body.json());
      if (beacon.boot_id === notBoot) return undefined;
      return { address, hostname: beacon.hostname, instanceUuid: beacon.instance_uuid, bootId: beacon.boot_id };
    },
    { timeoutMs, signal: lab.closing },
  );
}

export interface Reachability {
  /** Whether a client bound to that network's device gets an answer from the beacon. */
  readonly tenant: boolean;
  readonly provisioning: boolean;
  /** The VLANs in which the switch sees the machine's MAC address while both are tried. */
  readonly vlans: readonly number[];
}

/**
 * Tries the beacon from both networks. The address is on-link for both clients (see `network.ts`), so what differs is
 * the switch alone; the tenant client shows that the way of asking works.
 */
export async function tryBothNetworks(lab: Lab, node: LabNode, address: string): Promise<Reachability> {
  await lab.network.forgetLearnedAddresses();
  const ask = async (device: string): Promise<boolean> => {
    const limits = ['--silent', '--max-time', '30', '--output', '/dev/null'];
    const url = `http://${address}:${beaconPort}/`;
    const exitCode = await lab.network.tryInside('curl', ...limits, '--interface', device, url);
    return exitCode === 0;
  };
  const [tenant, provisioning] = await Promise.all([
    ask(labAddresses.tenant.device),
    ask(labAddresses.provisioning.device),
  ]);
  const learned = await lab.network.learnedAddresses();
  const vlans = learned.filter(({ mac }) => mac === node.machine.mac).map(({ vlan }) => vlan);
  return { tenant, provisioning, vlans };
}
