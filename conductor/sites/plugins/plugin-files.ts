import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { PluginRow } from '#conductor/kernel/db/schema/site.ts';
import type { PluginTaskRef } from '#conductor/model/planned-step.ts';
import { getPlugin } from '#conductor/sites/plugins/plugin-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/limit-at-once.ts';

type Files = PluginRow['files'];
type WhichPlugin = Pick<PluginTaskRef, 'plugin' | 'version' | 'content'>;

/** The files of plugins, on their way to agents: a site sends the same ones to each of its nodes, all at about the same time. */
export interface PluginFiles {
  /**
   * Lets few at once read files and send them, in the order in which they ask: what is sent is in memory three times over
   * (object, JSON, bytes).
   * @throws the signal's reason, when it aborts before its turn
   */
  take<T>(signal: AbortSignal, send: (read: (which: WhichPlugin) => Promise<Files>) => Promise<T>): Promise<T>;
}

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
    `plugin ${name} ${version} has another content than when this deploy was planned: it was deleted and uploaded anew; deploy again`,
  );
}
