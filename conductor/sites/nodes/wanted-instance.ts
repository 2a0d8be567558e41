import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { Vif } from '#conductor/networks/place-vifs.ts';
import type { SiteNode, SitePort } from '#conductor/sites/site.ts';

/** Nothing of an earlier instance stays. The traits choose deploy templates; a reservation may be older than they are. */
export function instanceInfoOf(wanted: SiteNode): NodeRow['instanceInfo'] {
  return {
    ...(JSON.parse(JSON.stringify(wanted.instanceInfo ?? {})) as NodeRow['instanceInfo']),
    hostname: wanted.name,
    ...(wanted.traits.length > 0 ? { traits: [...wanted.traits] } : {}),
  };
}

/** The networks attached once it is deployed: one for all of its ports, or one for each. Pure. */
export function wantedVifs(documents: readonly SitePort[], ports: readonly Pick<PortRow, 'uuid' | 'address'>[]): Vif[] {
  const connected = documents.flatMap(({ address, network }) => (network === undefined ? [] : [{ address, network }]));
  const names = [...new Set(connected.map(({ network }) => network))];
  return names.map((id) => {
    const address = connected.find(({ network }) => network === id)?.address;
    const port = names.length > 1 ? ports.find((each) => each.address === address) : undefined;
    return { id, portUuid: port?.uuid ?? null, portgroupUuid: null };
  });
}
