import type { FoundUpdate } from '#conductor/drivers/interfaces.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { readEach } from '#conductor/drivers/redfish/client/collection.ts';
import { ownPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { Task } from '#conductor/drivers/redfish/client/schemas.ts';
import { readTaskPaths } from '#conductor/drivers/redfish/client/task-list.ts';
import { isOpen, lookAtTask } from '#conductor/drivers/redfish/client/task-states.ts';

/** Tasks of a BMC by which it is seen whether an update has begun whose answer was lost. */

/**
 * Finds the task of an update among those that were not there before: the one whose request went to one of the places where
 * updates are asked for (DMTF Task, `Payload.TargetUri`). A new one that says nothing of its request may be it for as long
 * as it is at work; so may one that can't be read.
 */
export async function findTask(
  client: RedfishClient,
  { before, places }: { readonly before: readonly string[] | null; readonly places: readonly (string | undefined)[] },
  signal: AbortSignal,
): Promise<FoundUpdate> {
  const now = before === null ? null : await readTaskPaths(client, signal);
  if (before === null || now === null) return { state: 'nothing', isShown: false };
  // a BMC lacks some of the ways, and one behind NAT writes its inner address
  const known = places.flatMap((place) => (place && ownPath(place, client.origin)) || []);
  const added = now.filter((path) => !before.includes(path));
  const { read, unread } = await readEach(client, added, Task, signal);
  const looks = read.map(({ path, data }) => {
    const { TargetUri: target } = data.Payload ?? {};
    const asked = target ? ownPath(target, client.origin) : undefined;
    const isOwn = asked === undefined ? undefined : known.includes(asked);
    return { path, isOwn, look: lookAtTask({ status: 200, body: data }) };
  });
  const own = looks.filter(({ isOwn }) => isOwn);
  // asked for more than once: while one of them runs the others don't count
  const areAtWork = own.length > 1 && own.some(({ look }) => isOpen(look));
  const task = areAtWork ? undefined : (own.findLast(({ look }) => look.state === 'done') ?? own.at(-1));
  if (task) return { state: 'task', task: task.path };
  const mayBeIt = looks.some(({ isOwn, look }) => isOpen(look) && isOwn !== false);
  if (mayBeIt || unread.length > 0) return { state: 'at work' };
  // an empty list may be of a BMC that lists no updates
  return { state: 'nothing', isShown: now.length > 0 && looks.every(({ isOwn }) => isOwn === false) };
}
