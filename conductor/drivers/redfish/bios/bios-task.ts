import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { readEach } from '#conductor/drivers/redfish/client/collection.ts';
import { ownPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { Task } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { monitorOf, peekTask } from '#conductor/drivers/redfish/client/task.ts';
import { readTaskPaths } from '#conductor/drivers/redfish/client/task-list.ts';
import { isOpen, lookAtTask } from '#conductor/drivers/redfish/client/task-states.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/** Tasks of changed BIOS settings: Dell's begins at the next reset, and may end after the new values are shown. */

const listTimeoutMs = 30_000;

/** Work that a BMC has accepted, as far as is known. A 202 that names no task, or what is none, tells neither. */
export interface AskedTask {
  /** Whether nothing of it is left to do. */
  readonly isOver: boolean;
  /** Path of its task: one that is at work, or one that the BMC has forgotten, so that it shows no end. */
  readonly task: string | undefined;
}

/** @throws AppError `bmc_error` when the task has failed already */
export async function taskOf(
  { client, clock }: RedfishSystem,
  answer: RedfishAnswer,
  what: string,
  signal: AbortSignal,
): Promise<AskedTask> {
  const end = await peekTask(client, answer, what, { clock, signal });
  const isNamed = end === 'open' || end === 'lost';
  return { isOver: end === 'ended' || end === 'lost', task: isNamed ? monitorOf(answer, client.origin) : undefined };
}

/**
 * Finds a task that has not ended, and whose request went to one of the places (DMTF Task, `Payload.TargetUri`), or that is
 * Dell's of BIOS settings, of which there is one at a time: for answers that were lost or named none. `undefined` where the
 * BMC shows none.
 */
export async function findOpenTask(
  client: RedfishClient,
  places: readonly string[],
  outer: AbortSignal,
): Promise<string | undefined> {
  const { signal } = callDeadline({ signal: outer }, listTimeoutMs);
  const known = places.map((place) => ownPath(place, client.origin));
  try {
    const paths = await readTaskPaths(client, signal);
    if (paths === null) return undefined;
    const { read } = await readEach(client, paths, Task, signal);
    const own = read.filter(({ data }) => {
      const target = data.Payload?.TargetUri;
      const isOwn = target ? known.includes(ownPath(target, client.origin)) : data.JobType === 'BIOSConfiguration';
      return isOwn && isOpen(lookAtTask({ status: 200, body: data }));
    });
    return own.at(-1)?.path;
  } catch (error) {
    if (outer.aborted || !['bmc_error', 'unavailable', 'timeout'].includes(errorCode(error))) throw error;
    client.log.debug({ err: error, bmc: client.origin }, 'the tasks of the BMC can not be read');
    return undefined;
  }
}
