import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { PluginRow } from '#conductor/kernel/db/schema/site.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { newRemark, remarkError } from '#conductor/model/remarks/remark-words.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { orderTasks } from '#conductor/sites/plugins/order-tasks.ts';
import { describeFault, parseTasks } from '#conductor/sites/plugins/parse-tasks.ts';
import { getPlugin, insertPlugin } from '#conductor/sites/plugins/plugin-store.ts';
import type { PluginTask } from '#conductor/sites/plugins/plugin-task.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isPluginPath, maxPluginBytes } from '#shared/wire/step.ts';

const maxFiles = 500;
const maxTasksLength = 262_144;
// groups of four as an expression would overflow the stack with some MiB
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

const printable = z.string().refine((text) => !text.includes('\0'), 'must not contain a NUL');

/** The plugin's name in its address, which also orders its tasks. */
export const PluginName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be letters, digits, ".", "_" and "-", 63 at most');
export const PluginVersion = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._+~-]{0,62}$/, 'must be letters, digits and "._+~-", 63 at most');

/** `POST /api/v1.0/plugins`. */
export const PluginUpload = z.strictObject({
  name: PluginName,
  version: PluginVersion,
  title: printable.max(255, 'must have 255 characters at most').nullish(),
  tasks: printable
    .max(maxTasksLength, `must have ${maxTasksLength} characters at most`)
    .describe('the text of tasks.yaml'),
  files: z
    .record(
      z.string(),
      z.strictObject({
        content: z.string().refine((text) => text.length % 4 === 0 && base64.test(text), 'must be base64'),
        executable: z.boolean().default(false),
      }),
    )
    .default({})
    .describe("what its tasks' commands find in their folder, by path: base64; secrets don't belong there"),
});
export type PluginUpload = z.infer<typeof PluginUpload>;

/**
 * Keeps a plugin, once it is found to be right in every part.
 * @returns whether it is new; the same plugin may come again
 * @throws AppError `invalid_argument` with all that is wrong, `conflict` when that version has another content already
 */
export async function uploadPlugin(
  db: Queryable,
  upload: PluginUpload,
  user: string | undefined,
): Promise<{ readonly row: PluginRow; readonly isNew: boolean }> {
  const { name, version, tasks: tasksText, files } = upload;
  const { tasks, faults } = readUpload(upload);
  if (faults.length > 0) {
    const remark = newRemark('plugin-faults', { plugin: name, faults: faults.map(({ message }) => message) });
    throw remarkError('invalid_argument', remark, { reason: 'InvalidPlugin', faults });
  }
  const content = { title: upload.title ?? null, tasksText, files };
  const inserted = await insertPlugin(db, {
    name,
    version,
    ...content,
    contentHash: contentHash(content),
    tasks: tasks as unknown as JsonObject[],
    createdBy: user ?? null,
  });
  if (inserted) return { row: inserted, isNew: true };
  const row = await getPlugin(db, { name, version });
  const { title, tasksText: knownText, files: knownFiles } = row;
  if (isDeepStrictEqual({ title, tasksText: knownText, files: knownFiles }, content)) return { row, isNew: false };
  throw new AppError(
    'conflict',
    `plugin ${name} ${version} is there with another content: what a site was deployed with does not change; raise its version`,
  );
}

/** Pure. */
export function readUpload({ name, version, tasks: text, files }: PluginUpload): {
  readonly tasks: readonly PluginTask[];
  readonly faults: readonly SiteFault[];
} {
  const parsed = parseTasks(text, name);
  const reported = parsed.faults.map((fault) => invalid(describeFault(fault), pathOf(fault)));
  // what other plugins have is known where they meet: in a site
  const own = parsed.tasks.map((task) => ({
    ...task,
    requires: task.requires.filter((id) => id.startsWith(`${name}/`)),
    requiredFor: task.requiredFor.filter((id) => id.startsWith(`${name}/`)),
  }));
  const order = orderTasks([{ name, version, tasks: own }]).faults.map(({ message }) => invalid(message, 'tasks'));
  return { tasks: parsed.tasks, faults: [...reported, ...order, ...checkFiles(files)] };
}

function pathOf({ task, field }: { readonly task?: number; readonly field?: string }): string {
  return `tasks${task === undefined ? '' : `[${task - 1}]`}${field === undefined ? '' : `.${field}`}`;
}

function checkFiles(files: PluginUpload['files']): SiteFault[] {
  const paths = Object.keys(files);
  // what is looked at below is bounded by that
  if (paths.length > maxFiles) return [invalid(`${paths.length} files: ${maxFiles} at most`, 'files')];
  const faults: SiteFault[] = [];
  const folders = new Map(paths.flatMap((path) => foldersOf(path).map((folder) => [folder, path] as const)));
  const bytes = Object.values(files).reduce((sum, { content }) => sum + Buffer.byteLength(content, 'base64'), 0);
  if (bytes > maxPluginBytes) {
    faults.push(invalid(`its files have ${bytes} bytes: ${maxPluginBytes} at most`, 'files'));
  }
  for (const path of paths) {
    const at = `files[${JSON.stringify(path)}]`;
    if (!isPluginPath(path)) {
      const rule =
        'it must be a path below the plugin’s folder, without "..", "\\" and empty parts, of 255 characters at most';
      faults.push(invalid(`file ${JSON.stringify(path)}: ${rule}`, at));
    }
    const within = folders.get(path);
    if (within !== undefined) faults.push(invalid(`file ${path}: it is the folder of ${within} too`, at));
  }
  return faults;
}

/** `a/b/c` → `a`, `a/b`; of a path that is too long nothing is asked. */
function foldersOf(path: string): string[] {
  if (path.length > 255) return [];
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function invalid(message: string, path: string): SiteFault {
  return { level: 'Error', name: 'InvalidPlugin', message, path };
}

/**
 * SHA-256 of what a plugin does: its tasks, and its files by path. A version that is deleted and uploaded again may have another
 * content: plans and deployed nodes say by it which one was meant. Pure.
 */
export function contentHash({ tasksText, files }: Pick<PluginRow, 'tasksText' | 'files'>): string {
  const rows = Object.entries(files)
    .map(([path, { content, executable }]) => [path, content, executable] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([tasksText, rows]))
    .digest('hex');
}
