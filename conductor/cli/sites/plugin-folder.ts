import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { readDocument } from '#conductor/cli/shell/input-files.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { expectedMessage } from '#conductor/model/expected.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

/** Fuel's `metadata.yaml`; what else it has there says nothing here. */
const Metadata = z.looseObject({
  name: z.string(expectedMessage('text')),
  // 1.10 would have become 1.1
  version: z.string(expectedMessage('text')),
  title: z.string(expectedMessage('text')).nullish(),
});

const scriptsFolder = 'deployment_scripts';
const known = new Set(['metadata.yaml', 'tasks.yaml', scriptsFolder]);

/** Files that are uploaded of a folder in Fuel's layout, and the names of those that are not. */
export interface PluginFolder {
  readonly body: {
    readonly name: string;
    readonly version: string;
    readonly title?: string;
    readonly tasks: string;
    readonly files: Readonly<Record<string, { readonly content: string; readonly executable: boolean }>>;
  };
  readonly leftOut: readonly string[];
}

/**
 * A plugin's folder: `metadata.yaml`, `tasks.yaml`, and `deployment_scripts/` with what the tasks need.
 * @throws AppError `invalid_argument` naming the file
 */
export async function readPluginFolder(folder: string): Promise<PluginFolder> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw usageError(`read ${folder}`, { cause });
  });
  if (!names.includes('metadata.yaml')) {
    throw usageError(
      `${folder} has no metadata.yaml: a plugin is a folder with that, tasks.yaml and ${scriptsFolder}/`,
    );
  }
  const metadata = Metadata.safeParse(await readDocument(folder, join(folder, 'metadata.yaml')));
  if (!metadata.success) {
    throw usageError(`${join(folder, 'metadata.yaml')}: ${describeIssues(metadata.error)}`);
  }
  const { name, version, title } = metadata.data;
  const tasks = await readText(join(folder, 'tasks.yaml'));
  const files = names.includes(scriptsFolder) ? await readFiles(join(folder, scriptsFolder)) : {};
  return {
    body: { name, version, ...(title ? { title } : {}), tasks, files },
    leftOut: names.filter((each) => !known.has(each)).sort(),
  };
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw usageError(`read ${path}`, { cause });
  });
}

/** Links are followed to files; those to folders, devices and the like are refused. */
async function readFiles(folder: string): Promise<PluginFolder['body']['files']> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: [string, { content: string; executable: boolean }][] = [];
  for (const entry of entries.filter((each) => !each.isDirectory())) {
    const path = join(entry.parentPath, entry.name);
    try {
      const { mode } = await stat(path);
      const content = (await readFile(path)).toString('base64');
      files.push([relative(folder, path).split(sep).join('/'), { content, executable: (mode & 0o111) !== 0 }]);
    } catch (cause) {
      throw usageError(`read ${path}`, { cause });
    }
  }
  return Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1)));
}
