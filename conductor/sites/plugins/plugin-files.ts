import type { PluginFiles, WhichPlugin } from '#conductor/flows/plugin-files.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { PluginRow } from '#conductor/kernel/db/schema/site.ts';
import { getPlugin } from '#conductor/sites/plugins/plugin-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/limit-at-once.ts';

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
