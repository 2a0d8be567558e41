import { randomBytes, randomUUID } from 'node:crypto';
import { and, eq, inArray, notInArray } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type PortgroupRow, type PortRow, portgroups, ports } from '#conductor/kernel/db/schema/port.ts';
import type { Vif } from '#conductor/networks/vifs/place-vifs.ts';
import { choosePlace, type PortRules } from '#conductor/networks/vifs/port-rules.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Places a VIF that names no port or group by the rules of the instance's traits; a group that they ask for is made here, and
 * exists as long as the VIF is attached.
 * @returns the VIF with its place; unchanged where no rules apply
 * @throws AppError `invalid_argument` where rules apply and find no free port: another place would not be the one meant.
 */
export async function placeByRules(
  tx: Transaction,
  node: Pick<NodeRow, 'uuid' | 'instanceInfo'>,
  vif: Vif,
  given: {
    readonly rules: PortRules;
    readonly ports: readonly PortRow[];
    readonly groups: readonly PortgroupRow[];
    readonly attached: readonly Vif[];
  },
): Promise<Vif> {
  const { rules, ...free } = given;
  const place = choosePlace(rules, traitsOf(node), { network: vif.id, ...free });
  if (place === 'no rules') return vif;
  if (place === 'no match') {
    throw new AppError(
      'invalid_argument',
      `Unable to attach VIF ${vif.id} to node ${node.uuid}: no rule of its traits (instance_info.traits; the networks ` +
        "file's traits) finds a free port for it; name one by port_uuid or portgroup_uuid.",
    );
  }
  if (place.kind !== 'group')
    return { ...vif, ...(place.kind === 'port' ? { portUuid: place.uuid } : { portgroupUuid: place.uuid }) };
  const members = place.ports.map(({ uuid }) => uuid);
  const uuid = randomUUID();
  await tx.insert(portgroups).values({
    uuid,
    nodeUuid: node.uuid,
    name: `dynamic-${randomBytes(4).toString('hex')}`,
    physicalNetwork: place.physicalNetwork,
    dynamicPortgroup: true,
    ...(place.mode === undefined ? {} : { mode: place.mode }),
  });
  await tx.update(ports).set({ portgroupUuid: uuid }).where(inArray(ports.uuid, members));
  return { ...vif, portgroupUuid: uuid };
}

function traitsOf({ instanceInfo }: Pick<NodeRow, 'instanceInfo'>): string[] {
  const traits: unknown = instanceInfo['traits'];
  return Array.isArray(traits) ? traits.filter((each) => typeof each === 'string') : [];
}

/**
 * Takes apart the groups that rules have made, and that no VIF has any more; those too that a conductor of an older release
 * has left, which would be bonded for the next instance and keep their ports from its rules.
 * @param attached the node's VIFs
 */
export async function dissolveUnusedGroups(db: Queryable, nodeUuid: string, attached: readonly Vif[]): Promise<void> {
  const used = attached.flatMap(({ portgroupUuid }) => portgroupUuid ?? []);
  const isUnused = and(
    eq(portgroups.nodeUuid, nodeUuid),
    eq(portgroups.dynamicPortgroup, true),
    notInArray(portgroups.uuid, used),
  );
  const made = db.select({ uuid: portgroups.uuid }).from(portgroups).where(isUnused);
  await db.update(ports).set({ portgroupUuid: null }).where(inArray(ports.portgroupUuid, made));
  await db.delete(portgroups).where(isUnused);
}
