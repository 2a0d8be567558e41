import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { DriverDefinition } from '#conductor/drivers/driver-definition.ts';
import type { CallOptions, ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { readAllMemberPaths, readEach, requireRead } from '#conductor/drivers/redfish/client/collection.ts';
import { underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { finishShown } from '#conductor/drivers/redfish/client/finish-shown.ts';
import { idInPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { orUndefined, Reference, Task } from '#conductor/drivers/redfish/client/schemas.ts';
import { type RedfishSystem, readManager } from '#conductor/drivers/redfish/client/system.ts';
import { isOpen, lookAtTask } from '#conductor/drivers/redfish/client/task-states.ts';
import { type RedfishOptions, redfishDriver, redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';

const timeoutMs = 120_000;

const Links = z.looseObject({
  Oem: orUndefined(z.looseObject({ Dell: orUndefined(z.looseObject({ DellJobService: orUndefined(Reference) })) })),
});

/**
 * Deletes all jobs that wait, so that none of a former life changes the machine at its next boot. By Dell's
 * `DellJobService.DeleteJobQueue`, below the manager where it names no other place (iDRAC 9 of firmware 4.40 and later).
 */
async function clearJobQueue(system: RedfishSystem, options?: CallOptions): Promise<void> {
  const { client, clock } = system;
  const { signal } = callDeadline(options, timeoutMs);
  const what = `clear the job queue at ${client.origin}`;
  const { data, path } = await readManager(system, signal);
  const named = Links.safeParse(data['Links']).data?.Oem?.Dell?.DellJobService?.['@odata.id'];
  const action = `${named ?? `${path}/Oem/Dell/DellJobService`}/Actions/DellJobService.DeleteJobQueue`;
  await underTitle(what, async () => {
    const answer = await client.request({ method: 'POST', path: action, body: { JobID: 'JID_CLEARALL' }, signal });
    const differs = () => describeJobsLeft(system, `${path}/Oem/Dell/Jobs`, signal);
    await finishShown(client, answer, what, { clock, signal, differs });
  });
}

/** Names the jobs that wait, or run; `undefined` = there is none. */
async function describeJobsLeft(
  { client }: RedfishSystem,
  place: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const paths = await readAllMemberPaths(client, place, signal);
  const { read, unread } = await readEach(client, paths, Task, signal);
  requireRead(unread);
  const left = read.filter(({ data }) => isOpen(lookAtTask({ status: 200, body: data })));
  return left.length === 0 ? undefined : `the queue has ${left.map(({ path }) => idInPath(path)).join(', ')}`;
}

const both = ['idrac-redfish', 'redfish'] as const;

const dellOnly = (system: RedfishSystem): Partial<ManagementInterface> => ({
  clearJobQueue: (options) => clearJobQueue(system, options),
});

/** Dell's BMC by Redfish, under the names that Ironic's `idrac` hardware type has and metal3 enrolls a host with. */
export const idracDriver: DriverDefinition<RedfishOptions> = {
  ...redfishDriver,
  name: 'idrac',
  interfaces: {
    bios: [...both, 'no-bios'],
    boot: ['ipxe', 'pxe', 'idrac-redfish-virtual-media', 'redfish-virtual-media', 'http', 'http-ipxe'],
    console: ['no-console', 'redfish-serial'],
    firmware: ['redfish', 'no-firmware'],
    inspect: ['agent', ...both, 'no-inspect'],
    management: both,
    power: both,
    raid: ['agent', ...both, 'no-raid'],
    vendor: [...both, 'no-vendor'],
  },
  site: { ...redfishDriver.site, types: ['idrac'] },
  open: (context, options) => redfishHardwareType(context, options, dellOnly),
};
