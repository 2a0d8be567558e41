import type { Lab, LabNode } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { type BeaconAnswer, tryBothNetworks } from '#test/lab/proofs/beacon.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';

/** The booted system is who its config drive says. */
export function proveIdentity(beacon: BeaconAnswer, hostName: string, instanceUuid: string): Proof[] {
  return [
    { what: 'host name from the config drive', holds: beacon.hostname === hostName, seen: beacon.hostname },
    {
      what: 'instance UUID from the config drive',
      holds: beacon.instanceUuid === instanceUuid,
      seen: beacon.instanceUuid,
    },
  ];
}

/** The machine is in the tenant network, and nowhere else. */
export async function proveNetwork(lab: Lab, node: LabNode, address: string): Promise<Proof[]> {
  const reach = await tryBothNetworks(lab, node, address);
  const { tenant, provisioning } = labAddresses;
  const vlan = await lab.network.portVlan(node.name);
  return [
    { what: 'beacon answers on the tenant VLAN', holds: reach.tenant, seen: `from ${tenant.device} at ${address}` },
    {
      what: 'no answer on the provisioning VLAN',
      // without an answer on the tenant VLAN, silence here would prove nothing
      holds: reach.tenant && !reach.provisioning && !reach.vlans.includes(provisioning.vlan),
      seen: `from ${provisioning.device}: ${reach.provisioning ? 'an answer' : 'no answer'}; the switch sees the machine in VLAN ${reach.vlans.join(', ') || 'none'}`,
    },
    { what: 'switch port on the tenant VLAN', holds: vlan === String(tenant.vlan), seen: `VLAN ${vlan}` },
  ];
}
