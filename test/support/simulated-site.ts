import { stringify } from 'yaml';
import type { DescribedSwitchPort } from '#test/simulators/node/simulated-inventory.ts';
import {
  type SimulatedNode,
  type SimulatedNodeOptions,
  startSimulatedNode,
} from '#test/simulators/node/simulated-node.ts';

/** A node of a site's documents. */
export interface SiteMember {
  readonly name: string;
  readonly rack: string;
  readonly tags: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Where it is plugged in. */
  readonly switchPort?: DescribedSwitchPort;
}

export interface SimulatedSite {
  /** By the name of the node. */
  readonly machines: ReadonlyMap<string, SimulatedNode>;
  /** Profile and nodes, as YAML. */
  readonly documents: string;
  close(): Promise<void>;
}

/** The account of every simulated BMC, and the name that documents have for it. */
export const bmcCredential = { name: 'bmc', account: { username: 'admin', password: 'simulated' } } as const;

/** Documents' usual metadata. */
export function siteDocument(schema: string, name: string, data: unknown): string {
  const layeringDefinition = { abstract: false, layer: 'site' };
  const metadata = { schema: 'metadata/Document/v1', name, layeringDefinition, storagePolicy: 'cleartext' };
  return stringify({ schema, metadata, data });
}

/** Simulated machines and the documents that describe them. */
export async function startSimulatedSite(
  members: readonly SiteMember[],
  {
    firstMac = 0,
    ...options
  }: Pick<SimulatedNodeOptions, 'conductorUrl'> &
    Partial<SimulatedNodeOptions> & {
      /** From which their MAC addresses are counted: of two sites of one conductor none may have those of the other. */
      readonly firstMac?: number;
    },
): Promise<SimulatedSite> {
  const started = await Promise.all(
    members.map(async (member, index) => {
      const hex = (firstMac + index).toString(16).padStart(4, '0');
      const mac = `52:54:00:05:${hex.slice(0, 2)}:${hex.slice(2)}`;
      const { switchPort } = member;
      return [member.name, await startSimulatedNode({ ...options, mac, ...(switchPort && { switchPort }) })] as const;
    }),
  );
  const machines = new Map(started);
  const profile = siteDocument('drydock/HostProfile/v1', 'simulated', {
    oob: { type: 'redfish', credential: bmcCredential.name },
    // BIOS: the simulated ramdisk has no firmware to put a boot entry into
    boot_mode: 'bios',
    platform: {
      image: 'http://images.example/demo.raw',
      checksum: 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    },
  });
  const nodes = members.map(({ name, rack, tags, labels = {}, switchPort: plug }) =>
    siteDocument('drydock/BaremetalNode/v1', name, {
      host_profile: 'simulated',
      oob: { address: machines.get(name)?.bmc.address },
      metadata: { rack, tags, owner_data: labels },
      interfaces: {
        eth0: {
          mac: machines.get(name)?.mac,
          pxe: true,
          ...(plug && { switch_port: { switch_id: plug.switchId, port_id: plug.portId } }),
        },
      },
    }),
  );
  return {
    machines,
    documents: [profile, ...nodes].join('---\n'),
    close: async () => {
      await Promise.all(started.map(([, machine]) => machine.close()));
    },
  };
}
