import type { PluginRow } from '#conductor/kernel/db/schema/site.ts';
import type { PluginTaskRef } from '#conductor/model/planned-step.ts';

export type WhichPlugin = Pick<PluginTaskRef, 'plugin' | 'version' | 'content'>;

/** The files of plugins, on their way to agents: a site sends the same ones to each of its nodes, all at about the same time. */
export interface PluginFiles {
  /**
   * Lets few at once read files and send them, in the order in which they ask: what is sent is in memory three times over
   * (object, JSON, bytes).
   * @throws the signal's reason, when it aborts before its turn
   */
  take<T>(
    signal: AbortSignal,
    send: (read: (which: WhichPlugin) => Promise<PluginRow['files']>) => Promise<T>,
  ): Promise<T>;
}
