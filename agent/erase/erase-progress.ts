import type { AgentContext } from '#agent/context.ts';
import type { OnErased } from '#agent/erase/erase-disk.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';

/** Adds the disks up for the operator's eyes. */
export function createProgress(
  context: Pick<AgentContext, 'reportProgress'>,
  disks: readonly BlockDevice[],
): (disk: BlockDevice) => OnErased {
  const state = new Map(disks.map((disk) => [disk.name, { method: 'waiting', done: 0, total: disk.sizeBytes }]));
  return (disk) => (method, done, total) => {
    state.set(disk.name, { method, done, total });
    const all = [...state.values()];
    const active = [...state].filter(([, each]) => each.done < each.total && each.method !== 'waiting');
    const shown = active.slice(0, 2).map(([name, each]) => `${name} (${each.method})`);
    const more = active.length > 2 ? ` and ${active.length - 2} more` : '';
    context.reportProgress({
      phase: `erasing ${shown.join(', ') || disk.name}${more}`.slice(0, 100),
      done_bytes: all.reduce((sum, each) => sum + each.done, 0),
      total_bytes: all.reduce((sum, each) => sum + each.total, 0),
    });
  };
}
