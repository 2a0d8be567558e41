import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import type { PluginAnswer, PluginDetailAnswer, PluginOrderAnswer, PluginTaskAnswer } from '#conductor/api/sites.ts';
import type { PluginFiles, WhichPlugin } from '#conductor/flows/flows-config.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type PluginRow, plugins } from '#conductor/kernel/db/schema/site.ts';
import type { OrderedTask } from '#conductor/sites/plugins/order-tasks.ts';
import {
  type PluginTask,
  type PluginTasks,
  postfixRanges,
  rangeOf,
  stageText,
} from '#conductor/sites/plugins/plugin-task.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';

export type PluginKey = Pick<PluginRow, 'name' | 'version'>;

/** One that was uploaded, without its files' contents. */
export type PluginSummary = Omit<PluginRow, 'files' | 'tasksText'>;

const summary = {
  id: plugins.id,
  name: plugins.name,
  version: plugins.version,
  title: plugins.title,
  contentHash: plugins.contentHash,
  tasks: plugins.tasks,
  createdBy: plugins.createdBy,
  createdAt: plugins.createdAt,
};

/** All, by name and then in the order in which their versions came. */
export async function listPlugins(db: Queryable): Promise<PluginSummary[]> {
  return db.select(summary).from(plugins).orderBy(sql`${plugins.name} collate "C"`, asc(plugins.id));
}

/** @throws AppError `not_found` */
export async function getPlugin(db: Queryable, key: PluginKey): Promise<PluginRow> {
  const [found] = await db.select().from(plugins).where(isKey(key));
  if (!found) throw new AppError('not_found', `there is no plugin ${key.name} of version ${key.version}`);
  return found;
}

/** Adds it; `undefined` when one of that name and version is there. */
export async function insertPlugin(
  db: Queryable,
  row: Omit<PluginRow, 'id' | 'createdAt'>,
): Promise<PluginRow | undefined> {
  const [inserted] = await db.insert(plugins).values(row).onConflictDoNothing().returning();
  return inserted;
}

export async function deletePlugin(tx: Transaction, key: PluginKey): Promise<boolean> {
  const gone = await tx.delete(plugins).where(isKey(key)).returning({ id: plugins.id });
  return gone.length > 0;
}

/**
 * The tasks of these plugins, in one statement.
 * @throws AppError `not_found` naming those that are not there
 */
export async function loadPluginTasks(db: Queryable, wanted: readonly PluginKey[]): Promise<PluginTasks[]> {
  if (wanted.length === 0) return [];
  const names = [...new Set(wanted.map(({ name }) => name))];
  const rows = await db
    .select({
      name: plugins.name,
      version: plugins.version,
      tasks: plugins.tasks,
      contentHash: plugins.contentHash,
    })
    .from(plugins)
    .where(inArray(plugins.name, names));
  const missing = wanted.filter((key) => !rows.some((row) => row.name === key.name && row.version === key.version));
  if (missing.length > 0) {
    const reported = missing.map(({ name, version }) => `${name} ${version}`).join(', ');
    throw new AppError('not_found', `plugin ${reported}: it has not been uploaded`);
  }
  return wanted.map(({ name, version }) => {
    const row = rows.find((each) => each.name === name && each.version === version);
    return {
      name,
      version,
      tasks: (row?.tasks ?? []) as unknown as PluginTask[],
      ...(row?.contentHash ? { content: row.contentHash } : {}),
    };
  });
}

function isKey({ name, version }: PluginKey) {
  return and(eq(plugins.name, name), eq(plugins.version, version));
}

type Files = PluginRow['files'];

const defaultLimits = { sending: 8, kept: 4 };

export function createPluginFiles(db: Queryable, limits: typeof defaultLimits = defaultLimits): PluginFiles {
  const kept = new Map<string, Files>();
  const inTurn = limitAtOnce({ most: limits.sending });

  const read = async (which: WhichPlugin): Promise<Files> => {
    const { plugin: name, version, content } = which;
    const key = JSON.stringify([name, version, content]);
    const known = content === undefined ? undefined : kept.get(key);
    kept.delete(key);
    const files = known ?? (await readFiles(db, which));
    if (content === undefined) return files;
    kept.set(key, files);
    for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - limits.kept))) kept.delete(oldest);
    return files;
  };

  return { take: (signal, send) => inTurn(() => send(read), signal) };
}

/** @throws AppError `conflict` when that version has another content than it had when the deploy was planned; `not_found` */
async function readFiles(db: Queryable, { plugin: name, version, content }: WhichPlugin): Promise<Files> {
  const row = await getPlugin(db, { name, version });
  if (content === undefined || row.contentHash === content) return row.files;
  throw new AppError(
    'conflict',
    `plugin ${name} ${version} has another content than when this deploy was planned: it was deleted and uploaded again; deploy again`,
  );
}

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
