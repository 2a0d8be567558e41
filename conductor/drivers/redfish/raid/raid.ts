import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { NewRaidVolume, RaidController, RaidInterface } from '#conductor/drivers/interfaces.ts';
import { readAllMemberPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { firstTaken, namesOf, underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { finishTask } from '#conductor/drivers/redfish/client/task.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { raidTypes, readController } from '#conductor/drivers/redfish/raid/raid-controllers.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Each of hundreds of drives is a request of its own. */
const readTimeoutMs = 15 * 60_000;
/** Within which a controller that doesn't say when it acts begins, or waits for a reset. */
const beginsWithinMs = 5_000;
/** A controller takes minutes for a volume of many drives. */
const writeTimeoutMs = 900_000;

/** Volumes of the system's storage controllers (DMTF Storage, Drive and Volume schemas). */
export function redfishRaid(system: RedfishSystem): RaidInterface {
  const { client } = system;
  return {
    getControllers: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const { data, path } = await system.read(signal);
      const place = data.Storage?.['@odata.id'];
      if (place === undefined) {
        throw new AppError('not_supported', `the system ${path} at ${client.origin} has no Storage resource`);
      }
      const controllers: RaidController[] = [];
      for (const member of await readAllMemberPaths(client, place, signal)) {
        const found = await readController(system, member, signal, options?.driveless);
        if (found) controllers.push(found);
      }
      return controllers;
    },
    createVolume: async (volume, options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const { controller } = volume;
      const what = `create a RAID ${volume.level} volume on ${controller.id} at ${client.origin}`;
      const post = (body: object) => client.request({ method: 'POST', path: controller.volumesPath, body, signal });
      const send = (body: object) => timed(withTime(controller, body), post);
      return underTitle(what, async () =>
        follow(system, controller, { answer: await firstTaken(bodies(volume), send), what, signal }),
      );
    },
    deleteVolume: async (controller, { path, name }, options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const what = `delete the volume ${name} on ${controller.id} at ${client.origin}`;
      const send = (body: object) =>
        client.request({ method: 'DELETE', path, ...(Object.keys(body).length > 0 ? { body } : {}), signal });
      return underTitle(what, async () => {
        const answer = await timed(withTime(controller, {}), send);
        return follow(system, controller, { answer, what, signal });
      });
    },
  };
}

/**
 * The bodies to POST, the next one for a BMC that refuses the one before: as DMTF has it now, without `VolumeType`; as
 * it was; and with the drives outside of `Links`, as older iDRACs and iLO take them.
 */
function bodies({ level, name, sizeBytes, drives }: NewRaidVolume): readonly object[] {
  const references = drives.map(({ path }) => ({ '@odata.id': path }));
  const type = raidTypes[level];
  const plain = {
    ...(name === undefined ? {} : { Name: name }),
    ...(sizeBytes === undefined ? {} : { CapacityBytes: sizeBytes }),
    RAIDType: type?.raid,
  };
  return [
    { ...plain, Links: { Drives: references } },
    { ...plain, VolumeType: type?.volume, Links: { Drives: references } },
    { ...plain, Drives: references },
    { ...plain, VolumeType: type?.volume, Drives: references },
  ];
}

function withTime({ applyTimes }: RaidController, body: object): object {
  const time = ['Immediate', 'OnReset'].find((each) => applyTimes.includes(each));
  return time === undefined ? body : { ...body, '@Redfish.OperationApplyTime': time };
}

/** Sends it with the time at which it is to be done, and without to a BMC that names this as what it doesn't know. */
async function timed(body: object, send: (body: object) => Promise<RedfishAnswer>): Promise<RedfishAnswer> {
  const { '@Redfish.OperationApplyTime': time, ...rest } = body as { readonly '@Redfish.OperationApplyTime'?: string };
  try {
    return await send(body);
  } catch (error) {
    // iDRAC from 6.00.02 on, of deletions: 500 (sushy's release notes)
    if (time === undefined || !namesOf(error).has('OperationApplyTime')) throw error;
    return send(rest);
  }
}

/**
 * To its end where it is done at once; a task that has not begun may wait for the reset, which it is left to. What has come
 * of it the collection shows, also where the BMC forgets its tasks as they end.
 */
async function follow(
  { client, clock }: RedfishSystem,
  { applyTimes }: RaidController,
  { answer, what, signal }: { readonly answer: RedfishAnswer; readonly what: string; readonly signal: AbortSignal },
): Promise<boolean> {
  const isLeft = !applyTimes.includes('Immediate');
  const pendingMs = applyTimes.includes('OnReset') ? 0 : beginsWithinMs;
  return finishTask(client, answer, what, {
    clock,
    signal,
    isLookedAt: true,
    ...(isLeft ? { leavePendingAfterMs: pendingMs } : {}),
  });
}
