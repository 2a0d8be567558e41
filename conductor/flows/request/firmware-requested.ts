import { listFirmware } from '#conductor/flows/bmc/firmware-store.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { firmwareUpdate, UpdateArgs } from '#conductor/flows/driver-steps/firmware.ts';
import { readTemplates } from '#conductor/flows/plan/read-plan.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { type RequestedStep, stepKey } from '#conductor/model/flows/planned-step.ts';
import { implementationOf } from '#conductor/nodes/node-interfaces.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** How long a request waits for a BMC. */
const timeoutMs = 15_000;

/**
 * Refuses updates of what the BMC doesn't have before anything is begun: by its components as last read, and where one is
 * not among them, by what it says now. A BMC that does not say it in time, or not of all, is asked by the step.
 * @throws AppError `invalid_argument` naming the component, and those that there are
 */
export async function requireFirmwareComponents(
  { db, drivers, log, secrets }: Pick<EngineContext, 'db' | 'drivers' | 'log' | 'secrets'>,
  node: NodeRow,
  requested: readonly RequestedStep[],
  kind: FlowKindName | undefined,
): Promise<void> {
  if (implementationOf(node, 'firmware') !== firmwareUpdate.interfaceName) return;
  const templates = kind === 'deploy' ? await readTemplates({ db, secrets }, node) : [];
  const steps = [...requested, ...templates.flatMap((template) => template.steps)];
  const updates = steps.filter((step) => stepKey(step) === stepKey(firmwareUpdate));
  if (updates.length === 0) return;
  const wanted = updates.flatMap(({ args }) => UpdateArgs.safeParse(args).data?.settings ?? []);
  const known = new Set((await listFirmware(db, node.uuid)).map(({ component }) => component));
  const missing = wanted.map(({ component }) => component).filter((component) => !known.has(component));
  if (missing.length === 0) return;
  const { firmware } = drivers.connect(node, { node: node.uuid });
  if (!firmware) return;
  try {
    await firmware.requireComponents(missing, { timeoutMs });
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_argument')
      throw new AppError('invalid_argument', `firmware.update: settings: ${error.message}`);
    log.info({ node: node.uuid, code: errorCode(error) }, 'firmware components not read: the step asks for them');
  }
}
