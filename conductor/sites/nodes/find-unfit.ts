import { eq } from 'drizzle-orm';
import { isAmong } from '#conductor/kernel/db/is-among.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { type DesignContext, openCredentials, readDesigns, whyNoLogin } from '#conductor/sites/nodes/read-design.ts';
import { whyUndeployable } from '#conductor/sites/nodes/why-undeployable.ts';
import type { Site } from '#conductor/sites/site.ts';

/**
 * Why nodes can't be deployed as their documents have them, by name, enrolled or not; those that can are absent. Asked
 * before anything of them is touched.
 */
export async function findUnfit(
  context: DesignContext,
  { site, names }: { readonly site: Pick<Site, 'nodes'>; readonly names: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  const wanted = names.flatMap((name) => site.nodes.get(name) ?? []);
  const addresses = wanted.flatMap((node) => node.ports.map(({ address }) => address));
  const [designs, credentials, taken] = await Promise.all([
    readDesigns(context, wanted),
    openCredentials(context, wanted),
    context.db
      .select({ address: ports.address, owner: nodes.name, uuid: nodes.uuid })
      .from(ports)
      .innerJoin(nodes, eq(nodes.uuid, ports.nodeUuid))
      .where(isAmong(ports.address, addresses)),
  ]);
  const owners = new Map(taken.map(({ address, owner, uuid }) => [address, owner ?? uuid]));
  return new Map(
    wanted.flatMap((node): [string, string][] => {
      const design = designs.get(node.name);
      const port = node.ports.find(({ address }) => owners.has(address));
      const reasons = design
        ? [design.impossible, design.undeployable]
        : [
            port && `port ${port.address} of its document belongs to node ${owners.get(port.address) ?? ''}`,
            whyNoLogin(node, credentials),
            whyUndeployable(context, node),
          ];
      const all = reasons.filter((reason) => reason !== undefined);
      return all.length === 0 ? [] : [[node.name, all.join('; ')]];
    }),
  );
}
