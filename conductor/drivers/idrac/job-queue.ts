import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { CallOptions } from '#conductor/drivers/interfaces.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { readManager } from '#conductor/drivers/redfish/manager.ts';
import { lenient, Reference } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { finishTask } from '#conductor/drivers/redfish/task.ts';

const timeoutMs = 120_000;

const Links = z.looseObject({
  Oem: lenient(z.looseObject({ Dell: lenient(z.looseObject({ DellJobService: lenient(Reference) })) })),
});

/**
 * Deletes all jobs that wait, so that none of a former life changes the machine at its next boot. By Dell's
 * `DellJobService.DeleteJobQueue`, below the manager where it names no other place (iDRAC 9 of firmware 4.40 and later).
 */
export async function clearJobQueue(system: RedfishSystem, options?: CallOptions): Promise<void> {
  const { client, clock } = system;
  const { signal } = callDeadline(options, timeoutMs);
  const what = `clear the job queue at ${client.origin}`;
  const { data, path } = await readManager(system, signal);
  const named = Links.safeParse(data['Links']).data?.Oem?.Dell?.DellJobService?.['@odata.id'];
  const action = `${named ?? `${path}/Oem/Dell/DellJobService`}/Actions/DellJobService.DeleteJobQueue`;
  await attempted(what, async () => {
    const answer = await client.request({ method: 'POST', path: action, body: { JobID: 'JID_CLEARALL' }, signal });
    await finishTask(client, answer, what, { clock, signal });
  });
}
