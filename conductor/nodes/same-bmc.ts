import { and, isNotNull, ne, or, sql } from 'drizzle-orm';
import { drivers, findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';

type Described = Pick<NodeRow, 'uuid' | 'driver' | 'driverInfo'>;

const addressFields = [...new Set(drivers.flatMap(({ bmc }) => bmc?.address ?? []))];

/**
 * Lists names of other nodes that describe the same machine of the same BMC: each would deploy and wipe the other's machine.
 * Ironic accepts them, and so does Baton, which tells it where a node is validated.
 */
export async function listSameMachine(db: Queryable, node: Described): Promise<string[]> {
  const own = machineOf(node);
  if (own === undefined) return [];
  const others = await db
    .select({ uuid: nodes.uuid, name: nodes.name, driver: nodes.driver, driverInfo: nodes.driverInfo })
    .from(nodes)
    .where(
      and(
        ne(nodes.uuid, node.uuid),
        or(...addressFields.map((field) => isNotNull(sql`${nodes.driverInfo} ->> ${field}`))),
      ),
    );
  return others.filter((other) => isSame(own, machineOf(other))).map(({ uuid, name }) => name ?? uuid);
}

/** Returns a key of the machine; `undefined` where nothing distinguishes it from others. */
function machineOf({ driver, driverInfo }: Described): string | undefined {
  const found = findDriver(driver);
  const address = found?.bmc && driverInfo[found.bmc.address];
  if (typeof address !== 'string' || address.trim() === '') return undefined;
  return found?.site.machine?.(driverInfo);
}

/** Compares systems of a BMC: no name of a system means the BMC's only one. */
function isSame(one: string, other: string | undefined): boolean {
  if (other === undefined) return false;
  return one === other || one.startsWith(`${other} system `) || other.startsWith(`${one} system `);
}
