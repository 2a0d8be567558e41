import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { isPluginPath, type PluginTaskArgs } from '#shared/wire/plugin-task.ts';

/**
 * Writes a plugin's files below a folder that is empty, or holds the same plugin's from an earlier run.
 * @throws AppError `invalid_argument` for a path that leads elsewhere, `storage_error`
 */
export async function placePluginFiles(
  folder: string,
  files: NonNullable<PluginTaskArgs['plugin_files']>,
): Promise<void> {
  for (const [path, { content, executable }] of Object.entries(files)) {
    if (!isPluginPath(path)) throw new AppError('invalid_argument', `plugin file ${path}: the path leads elsewhere`);
    const target = join(folder, path);
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, Buffer.from(content, 'base64'), { mode: executable ? 0o755 : 0o644 });
    } catch (cause) {
      throw new AppError('storage_error', `write the plugin's file ${path}`, { cause });
    }
  }
}
