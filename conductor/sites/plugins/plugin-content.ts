import { createHash } from 'node:crypto';
import type { PluginRow } from '#conductor/kernel/db/schema/site.ts';

/**
 * SHA-256 of what a plugin does: its tasks, and its files by path. A version that is deleted and uploaded anew may have another
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
