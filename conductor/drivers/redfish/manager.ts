import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { firstTaken } from '#conductor/drivers/redfish/first-taken.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { Action, lenient, Manager, SecureBoot } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { finishTask } from '#conductor/drivers/redfish/task.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/transport.ts';
import { AppError } from '#shared/errors/app-error.ts';

const timeoutMs = 120_000;

const Keys = SecureBoot.extend({ Actions: lenient(z.looseObject({ '#SecureBoot.ResetKeys': Action })) });

/** What is done to the BMC itself and to the firmware's keys (DMTF Manager, SecureBoot). */
export function managerActions(
  system: RedfishSystem,
): Pick<ManagementInterface, 'resetBmc' | 'setBmcClock' | 'resetSecureBootKeys'> {
  const { client, clock } = system;
  const perform = (what: string, signal: AbortSignal, ask: () => Promise<RedfishAnswer>): Promise<void> =>
    attempted(what, async () => finishTask(client, await ask(), what, { clock, signal }));
  const post = (path: string, body: object, signal: AbortSignal): Promise<RedfishAnswer> =>
    client.request({ method: 'POST', path, body, signal });
  return {
    resetBmc: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const what = `reset the BMC at ${client.origin}`;
      const path = (await readManager(system, signal)).data.Actions?.['#Manager.Reset']?.target;
      if (path === undefined) throw new AppError('not_supported', `${what}: it has no Reset action`);
      const bodies = ['GracefulRestart', 'ForceRestart'].map((type) => ({ ResetType: type }));
      await attempted(what, () => firstTaken(bodies, (body) => post(path, body, signal)));
    },
    setBmcClock: async (now, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const manager = await readManager(system, signal);
      const body = { DateTime: now.toISOString().replace(/\.\d+Z$/, '+00:00') };
      await perform(`set the BMC's clock at ${client.origin}`, signal, () =>
        patchResource(client, manager, body, signal),
      );
    },
    resetSecureBootKeys: async (to, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const what = `reset the secure boot keys at ${client.origin}`;
      const secureBoot = (await system.read(signal)).data.SecureBoot?.['@odata.id'];
      const keys = secureBoot === undefined ? undefined : await readResource(client, secureBoot, Keys, signal);
      const path = keys?.data.Actions?.['#SecureBoot.ResetKeys']?.target;
      if (path === undefined) throw new AppError('not_supported', `${what}: the system has no ResetKeys action`);
      const type = to === 'maker' ? 'ResetAllKeysToDefault' : 'DeleteAllKeys';
      await perform(what, signal, () => post(path, { ResetKeysType: type }, signal));
    },
  };
}

/** The system's first manager; `undefined` for a system that names none. */
export async function findManager(system: RedfishSystem, signal: AbortSignal): Promise<Resource<Manager> | undefined> {
  const path = (await system.read(signal)).data.Links?.ManagedBy?.[0]?.['@odata.id'];
  return path === undefined ? undefined : readResource(system.client, path, Manager, signal);
}

/** @throws AppError `not_supported` for a system that names no manager. */
export async function readManager(system: RedfishSystem, signal: AbortSignal): Promise<Resource<Manager>> {
  const manager = await findManager(system, signal);
  if (manager) return manager;
  throw new AppError('not_supported', `the system at ${system.client.origin} names no manager`);
}
