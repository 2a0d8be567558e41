import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { PluginTaskRef, RequestedStep } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { type OrderedTask, type OrderFault, orderTasks } from '#conductor/sites/plugins/order-tasks.ts';
import { loadPluginTasks } from '#conductor/sites/plugins/plugin-store.ts';
import { type PluginTasks, stageText } from '#conductor/sites/plugins/plugin-task.ts';
import type { Site } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { pluginTaskStep } from '#shared/wire/step.ts';

/**
 * The steps that a site's plugins add to the deploy of a node, in the order in which they run.
 * @param roles the node's tags
 * @throws AppError `not_found` for a plugin that was not uploaded, `invalid_argument` for tasks that have no order
 */
export async function readPluginSteps(
  db: Queryable,
  plugins: Site['plugins'],
  roles: readonly string[],
): Promise<RequestedStep[]> {
  return pluginSteps(await loadPluginTasks(db, plugins), roles);
}

/** The same of plugins that were read already (pure): the order is that of all tasks, whichever of them a node has. */
export function pluginSteps(plugins: readonly PluginTasks[], roles: readonly string[]): RequestedStep[] {
  const { order, faults } = orderTasks(plugins);
  if (faults.length > 0) {
    throw new AppError('invalid_argument', `plugins: ${faults.map(({ message }) => message).join('; ')}`);
  }
  const contents = new Map(plugins.map(({ name, content }) => [name, content]));
  return order.filter((each) => isFor(each, roles)).map((each) => toStep(each, contents.get(each.plugin)));
}

/** Whether a node with these tags runs the task. */
export function isFor({ task }: Pick<OrderedTask, 'task'>, roles: readonly string[]): boolean {
  return task.roles === '*' || task.roles.some((role) => roles.includes(role));
}

function toStep(ordered: OrderedTask, content: string | undefined): RequestedStep {
  const { plugin, version, number, task, reason } = ordered;
  const ref: PluginTaskRef = {
    plugin,
    version,
    ...(content === undefined ? {} : { content }),
    task: number,
    stage: task.stage.name,
    place: stageText(task.stage),
    ...(task.type === 'shell' || task.timeout === undefined ? {} : { timeout: task.timeout }),
  };
  return { plugin: ref, ...stepOf(ordered), priority: 0, reason };
}

function stepOf({ plugin, version, number, task }: OrderedTask): {
  readonly interface: string;
  readonly step: string;
  readonly args: JsonObject;
} {
  if (task.type === 'step') return { interface: task.interface, step: task.step, args: task.args };
  if (task.type === 'reboot') return { interface: 'deploy', step: 'reboot_ramdisk', args: {} };
  return {
    ...pluginTaskStep,
    args: {
      plugin,
      version,
      task: number,
      stage: stageText(task.stage),
      cmd: task.cmd,
      timeout: task.timeout,
      ...(task.cwd === undefined ? {} : { cwd: task.cwd }),
      ...(task.env === undefined ? {} : { env: task.env }),
    },
  };
}

/**
 * Finds what keeps a site's plugins from running together: ids that none of them has, circles.
 * @throws AppError `not_found` for one that was not uploaded
 */
export async function findPluginFaults(db: Queryable, plugins: Site['plugins']): Promise<SiteFault[]> {
  return orderTasks(await loadPluginTasks(db, plugins)).faults.map(pluginFault);
}

export function pluginFault({ name, message }: OrderFault): SiteFault {
  return { level: 'Error', name, message };
}
