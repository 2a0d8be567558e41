import { and, desc, eq, isNotNull, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import { describeDeployBoot } from '#conductor/model/flows/step-note.ts';
import { AppError } from '#shared/errors/app-error.ts';

const deployBoots = ['reboot', 'kexec', 'auto'] as const;
export type DeployBoot = (typeof deployBoots)[number];

/** In `instance_info.traits`: as `deploy_boot: kexec`. */
const kexecTrait = 'CUSTOM_DEPLOY_BOOT_KEXEC';

/**
 * Returns how a deploy ends: the machine starts from its disk, or goes from the ramdisk into the written system without its
 * firmware; `auto`: that where it is known to work. `instance_info.deploy_boot`, which is for one deploy, over the
 * instance's trait, over `driver_info.deploy_boot`; else a reboot.
 * @throws AppError `invalid_argument` for another value
 */
export function deployBootOf({ instanceInfo, driverInfo }: Pick<NodeRow, 'instanceInfo' | 'driverInfo'>): DeployBoot {
  const traits = instanceInfo['traits'];
  const hasTrait = Array.isArray(traits) && traits.includes(kexecTrait);
  return (
    readDeployBoot('instance_info', instanceInfo) ??
    (hasTrait ? 'kexec' : readDeployBoot('driver_info', driverInfo)) ??
    'reboot'
  );
}

/** @throws AppError `invalid_argument` for a value that no deploy understands */
export function readDeployBoot(place: string, document: NodeRow['instanceInfo']): DeployBoot | undefined {
  const value = document['deploy_boot'] ?? undefined;
  const known = deployBoots.find((each) => each === value);
  if (known !== value) throw new AppError('invalid_argument', `${place}.deploy_boot: it must be reboot, kexec or auto`);
  return known;
}

/**
 * Returns whether kexec is known to work on the node's model, by the last machine of the same maker and product name that
 * was to go so.
 * @returns why not, else `undefined`
 */
export async function whyKexecIsUnknown(db: Queryable, nodeUuid: string): Promise<string | undefined> {
  const field = (name: string) => sql<string | null>`${nodeInventory.inventory} -> 'system_vendor' ->> ${name}::text`;
  const [maker, product] = [field('manufacturer'), field('product_name')];
  const [model] = await db.select({ maker, product }).from(nodeInventory).where(eq(nodeInventory.nodeUuid, nodeUuid));
  if (!model?.maker || !model.product) return "its maker and model aren't known: inspect it";
  const [last] = await db
    .select({ output: flowSteps.output })
    .from(flowSteps)
    .innerJoin(flows, eq(flows.uuid, flowSteps.flowUuid))
    .innerJoin(nodeInventory, eq(nodeInventory.nodeUuid, flows.nodeUuid))
    .where(
      and(
        eq(maker, model.maker),
        eq(product, model.product),
        eq(flowSteps.step, 'boot_instance'),
        isNotNull(flowSteps.endedAt),
        sql`${flowSteps.output} ? 'deploy_boot'`,
      ),
    )
    .orderBy(desc(flowSteps.endedAt))
    .limit(1);
  const name = `${model.maker} ${model.product}`;
  if (!last) return `no ${name} has been deployed by kexec yet`;
  const came = describeDeployBoot(last.output);
  return wentByKexec(last.output) ? undefined : `the last ${name}: ${came}`;
}

const wentOn = describeDeployBoot({ deploy_boot: 'kexec' });

/** @param output of `boot_instance` */
export function wentByKexec(output: unknown): boolean {
  return describeDeployBoot(output) === wentOn;
}

/** Returns how the node's last deploy says that it ended; `undefined` where it did not come so far. */
export async function findDeployBoot(
  db: Queryable,
  nodeUuid: string,
): Promise<{ readonly stepUuid: string; readonly output: unknown } | undefined> {
  const [last] = await db
    .select({ uuid: flows.uuid })
    .from(flows)
    .where(and(eq(flows.nodeUuid, nodeUuid), eq(flows.kind, 'deploy')))
    .orderBy(desc(flows.startedAt))
    .limit(1);
  if (!last) return undefined;
  const [step] = await db
    .select({ stepUuid: flowSteps.uuid, output: flowSteps.output })
    .from(flowSteps)
    .where(and(eq(flowSteps.flowUuid, last.uuid), eq(flowSteps.step, 'boot_instance'), isNotNull(flowSteps.endedAt)));
  return step;
}
