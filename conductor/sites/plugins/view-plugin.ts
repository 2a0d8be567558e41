import type { PluginAnswer, PluginDetailAnswer, PluginOrderAnswer, PluginTaskAnswer } from '#conductor/api/sites.ts';
import type { PluginRow } from '#conductor/kernel/db/schema/site.ts';
import type { OrderedTask } from '#conductor/sites/plugins/order-tasks.ts';
import type { PluginSummary } from '#conductor/sites/plugins/plugin-store.ts';
import { type PluginTask, postfixRanges, rangeOf, stageText } from '#conductor/sites/plugins/plugin-task.ts';

export function viewPlugin(row: PluginSummary): PluginAnswer {
  const { name, version, title, createdBy, createdAt } = row;
  const tasks = row.tasks as unknown as readonly PluginTask[];
  return {
    name,
    version,
    title,
    tasks: tasks.map((task, index) => viewTask(task, index + 1)),
    created_by: createdBy,
    created_at: createdAt.toISOString(),
  };
}

export function viewPluginDetail(row: PluginRow): PluginDetailAnswer {
  const files = Object.entries(row.files).map(([path, { content, executable }]) => ({
    path,
    bytes: Buffer.byteLength(content, 'base64'),
    executable,
  }));
  return { ...viewPlugin(row), tasks_text: row.tasksText, files };
}

export function viewOrder(order: readonly OrderedTask[]): PluginOrderAnswer {
  return {
    tasks: order.map(({ plugin, version, number, task, reason }, index) => ({
      position: index + 1,
      plugin,
      version,
      ...viewTask(task, number),
      range: rangeOf(task.stage)?.meaning ?? null,
      reason,
    })),
    ranges: postfixRanges,
  };
}

function viewTask(task: PluginTask, number: number): PluginTaskAnswer {
  const { id, roles, stage, requires, requiredFor, type, ...parameters } = task;
  return {
    task: number,
    id: id ?? null,
    role: roles,
    stage: stageText(stage),
    type,
    parameters,
    requires,
    required_for: requiredFor,
  };
}
