import type { DriverAnswer } from '#conductor/api/node-parts.ts';
import { type Fleet, type FleetNode, type KnownDrivers, objectIn } from '#conductor/cli/import/fleet.ts';
import { type ApiClient, type Json, readList } from '#conductor/cli/shell/api-client.ts';
import { interfaceKinds } from '#conductor/model/node-words.ts';

const secret = '******';
/** Key in `extra` of each node that an import made, with the source as value: only such nodes are taken back. */
export const importMark = 'imported_from';

/** Asks the conductor for its drivers with the interfaces that each has. */
export async function readDrivers(client: ApiClient): Promise<KnownDrivers> {
  const drivers = await readList<DriverAnswer>(client, '/v1/drivers?detail=true', 'drivers');
  return new Map(drivers.map((driver) => [String(driver.name), driver]));
}

interface Choice {
  /** Resource class of nodes that have none. */
  readonly resourceClass: string | undefined;
  /** Names of nodes that run an instance, whatever the other system says. */
  readonly adopt: readonly string[];
  /** Certificates of BMCs are verified, whatever the other system does. */
  readonly verifyCa?: boolean;
}

/**
 * Fits a fleet to this conductor: nodes of drivers that it lacks are refused, interfaces that it lacks are left behind, and
 * so is everything masked. Pure.
 */
export function prepareFleet(fleet: Fleet, drivers: KnownDrivers, choice: Choice): Fleet {
  const nodes = fleet.nodes.map((node) => {
    const prepared = prepareNode(node, drivers, choice);
    return {
      ...prepared,
      fields: { ...prepared.fields, extra: { ...objectIn(prepared.fields, 'extra'), [importMark]: fleet.source } },
    };
  });
  return { ...fleet, nodes };
}

function prepareNode(
  node: FleetNode,
  drivers: KnownDrivers,
  { resourceClass, adopt, verifyCa = false }: Choice,
): FleetNode {
  const goal = adopt.includes(node.name) ? 'active' : node.goal;
  if (node.refused !== undefined) return { ...node, goal };
  const driver = drivers.get(node.driver);
  if (!driver) {
    const others = [...drivers.keys()].join(', ');
    return { ...node, goal, refused: `this conductor has no driver ${node.driver} (it has ${others})` };
  }
  const left = [...node.left];
  const fields: Json = { ...node.fields };
  for (const kind of interfaceKinds) {
    const name = fields[`${kind}_interface`];
    const enabled = driver[`enabled_${kind}_interfaces`];
    if (typeof name !== 'string' || (Array.isArray(enabled) && enabled.includes(name))) continue;
    delete fields[`${kind}_interface`];
    left.push(`${kind}_interface ${name} (${String(driver[`default_${kind}_interface`])} here)`);
  }
  for (const document of ['driver_info', 'instance_info', 'properties', 'extra']) {
    const { kept, masked } = withoutMasked(fields[document]);
    if (masked.length === 0) continue;
    fields[document] = kept;
    left.push(...masked.map((key) => `${document}.${key} (masked there)`));
  }
  const info = objectIn(fields, 'driver_info');
  if (/^(false|no|off|0)$/i.test(String(info['redfish_verify_ca']))) {
    if (verifyCa) fields['driver_info'] = { ...info, redfish_verify_ca: true };
    else left.push("verification of its BMC's certificate (--verify-ca keeps it)");
  }
  if (resourceClass !== undefined && (fields['resource_class'] ?? null) === null) {
    fields['resource_class'] = resourceClass;
  }
  return { ...node, goal, fields, left };
}

function withoutMasked(document: unknown): { readonly kept: Json; readonly masked: readonly string[] } {
  const entries = typeof document === 'object' && document !== null ? Object.entries(document) : [];
  return {
    kept: Object.fromEntries(entries.filter(([, value]) => value !== secret)),
    masked: entries.filter(([, value]) => value === secret).map(([key]) => key),
  };
}

/** Why a node can't be taken further than `enroll`; `undefined` = it can. Pure. */
export function describeMissingLogin({ driver, left }: FleetNode): string | undefined {
  const masked = left.filter((each) => /^(driver_info\.|the BMC's login)/.test(each));
  if (driver === 'fake-hardware' || masked.length === 0) return undefined;
  return `without ${masked.join(', ')} its BMC can't be asked`;
}
