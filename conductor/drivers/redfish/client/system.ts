import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import {
  readAllMemberPaths,
  readEach,
  requireRead,
  type Unread,
  unlessUnread,
} from '#conductor/drivers/redfish/client/collection.ts';
import { firstTaken, httpStatusOf, underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { finishShown } from '#conductor/drivers/redfish/client/finish-shown.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import {
  Action,
  ComputerSystem,
  Manager,
  orUndefined,
  SecureBoot,
  ServiceRoot,
} from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** One ComputerSystem behind one BMC. */
export interface RedfishSystem {
  readonly client: RedfishClient;
  readonly clock: Clock;
  /** Paths of resources that are known to have no settings resource. */
  readonly withoutSettings: Set<string>;
  /** Paths of Bios resources that have shown attributes. */
  readonly withAttributes: Set<string>;
  path(signal: AbortSignal): Promise<string>;
  read(signal: AbortSignal): Promise<Resource<ComputerSystem>>;
}

/** Knowledge of a BMC that all connections to it share; written by each that looks. */
export interface KnownSystem {
  found?: { readonly path: string; readonly atMs: number } | undefined;
  withoutSettings?: Set<string>;
  withAttributes?: Set<string>;
}

/** For so long the only system is still the only one: a BMC takes its time for each of the two requests that show it. */
const knownForMs = 60_000;

/** `configuredPath` is `redfish_system_id`; without it the BMC must have exactly one system. */
export function redfishSystem(
  client: RedfishClient,
  {
    clock,
    configuredPath,
    known = {},
  }: { readonly clock: Clock; readonly configuredPath: string | undefined; readonly known?: KnownSystem },
): RedfishSystem {
  let path = configuredPath;
  const find = async (signal: AbortSignal): Promise<string> => {
    if (path !== undefined) return path;
    const nowMs = clock.now().getTime();
    const { found } = known;
    const isFresh = found !== undefined && nowMs >= found.atMs && nowMs - found.atMs < knownForMs;
    if (isFresh) return found.path;
    path = await findOnlySystem(client, signal);
    known.found = { path, atMs: nowMs };
    return path;
  };
  return {
    client,
    clock,
    withoutSettings: (known.withoutSettings ??= new Set()),
    withAttributes: (known.withAttributes ??= new Set()),
    path: find,
    read: async (signal) => {
      const tried = await find(signal);
      try {
        return await readResource(client, tried, ComputerSystem, signal);
      } catch (error) {
        // another machine has this address by now
        if (path !== undefined || httpStatusOf(error) !== 404) throw error;
        known.found = undefined;
        return await readResource(client, await find(signal), ComputerSystem, signal);
      }
    },
  };
}

async function findOnlySystem(client: RedfishClient, signal: AbortSignal): Promise<string> {
  const root = await readResource(client, '/redfish/v1/', ServiceRoot, signal);
  const path = root.data.Systems?.['@odata.id'] ?? '/redfish/v1/Systems';
  const systems = await readAllMemberPaths(client, path, signal, 'left out');
  const [only] = systems;
  if (only !== undefined && systems.length === 1) return only;
  throw new AppError(
    'invalid_argument',
    `driver_info needs redfish_system_id: ${client.origin} has ${systems.length === 0 ? 'no systems' : `these systems: ${systems.join(', ')}`}`,
  );
}

const timeoutMs = 120_000;

const Keys = SecureBoot.extend({
  SecureBootMode: orUndefined(z.string()),
  Actions: orUndefined(z.looseObject({ '#SecureBoot.ResetKeys': Action })),
});
/** Words of `SecureBootMode` (DMTF SecureBoot) by what the keys were reset to. */
const keyModes = { none: ['SetupMode'], maker: ['UserMode', 'DeployedMode'] } as const;

/** How far a BMC's clock may be from what it was set to, milliseconds: some show minutes only. */
const clockToleranceMs = 90_000;

/** Actions on the BMC itself and on the firmware's keys (DMTF Manager, SecureBoot). */
export function managerActions(
  system: RedfishSystem,
): Pick<ManagementInterface, 'resetBmc' | 'setBmcClock' | 'resetSecureBootKeys'> {
  const { client, clock } = system;
  const post = (path: string, body: object, signal: AbortSignal): Promise<RedfishAnswer> =>
    client.request({ method: 'POST', path, body, signal });
  return {
    resetBmc: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const what = `reset the BMC at ${client.origin}`;
      const path = (await readManager(system, signal)).data.Actions?.['#Manager.Reset']?.target;
      if (path === undefined) throw new AppError('not_supported', `${what}: it has no Reset action`);
      const bodies = ['GracefulRestart', 'ForceRestart'].map((type) => ({ ResetType: type }));
      await underTitle(what, () => firstTaken(bodies, (body) => post(path, body, signal)));
    },
    setBmcClock: async (now, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const what = `set the BMC's clock at ${client.origin}`;
      const manager = await readManager(system, signal);
      const body = { DateTime: now.toISOString().replace(/\.\d+Z$/, '+00:00') };
      const aheadMs = now.getTime() - clock.now().getTime();
      const differs = async (): Promise<string | undefined> => {
        const { DateTime: shown } = (await readResource(client, manager.path, Manager, signal)).data;
        const offMs = Math.abs(Date.parse(shown ?? '') - aheadMs - clock.now().getTime());
        return offMs <= clockToleranceMs
          ? undefined
          : `it was set to ${body.DateTime}, and shows ${shown ?? 'no time'}`;
      };
      await underTitle(what, async () => {
        const answer = await patchResource(client, manager, body, signal);
        await finishShown(client, answer, what, { clock, signal, isLookedAt: true, differs });
      });
    },
    resetSecureBootKeys: async (to, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const what = `reset the secure boot keys at ${client.origin}`;
      const secureBoot = (await system.read(signal)).data.SecureBoot?.['@odata.id'];
      const readKeys = (place: string) => readResource(client, place, Keys, signal);
      const keys = secureBoot === undefined ? undefined : await readKeys(secureBoot);
      const path = keys?.data.Actions?.['#SecureBoot.ResetKeys']?.target;
      if (keys === undefined || path === undefined)
        throw new AppError('not_supported', `${what}: the system has no ResetKeys action`);
      const type = to === 'maker' ? 'ResetAllKeysToDefault' : 'DeleteAllKeys';
      const fits = (mode: string | null | undefined): boolean => keyModes[to].some((each) => each === mode);
      const before = keys.data.SecureBootMode;
      const differs = async (): Promise<string | undefined> => {
        const { SecureBootMode: mode } = (await readKeys(keys.path)).data;
        // of single keys that are gone the mode says nothing
        if (fits(mode) && !fits(before)) return undefined;
        const shown = mode ?? 'no mode';
        const now = mode === before ? `${shown} as before` : shown;
        return `SecureBootMode is ${now} (some BMCs show the next one once the machine has booted)`;
      };
      await underTitle(what, async () => {
        const answer = await post(path, { ResetKeysType: type }, signal);
        await finishShown(client, answer, what, { clock, signal, differs });
      });
    },
  };
}

const managersPath = '/redfish/v1/Managers';

/**
 * The system's managers: those that it names, else the only one of the service. Huawei's 1288H names them as `Managers`, and
 * others none for a while after a start.
 */
export async function managerPaths(system: RedfishSystem, signal: AbortSignal): Promise<readonly string[]> {
  const { ManagedBy: standard, Managers: other } = (await system.read(signal)).data.Links ?? {};
  const named = [standard, other].find((each) => each && each.length > 0) ?? [];
  if (named.length > 0) return [...new Set(named.map((manager) => manager['@odata.id']))];
  const root = await readResource(system.client, '/redfish/v1/', ServiceRoot, signal);
  const place = root.data.Managers?.['@odata.id'];
  const all = place === undefined ? [] : await readAllMemberPaths(system.client, place, signal, 'left out');
  return all.length === 1 ? all : [];
}

/** @throws AppError `not_supported` where none can be told to be the system's BMC. */
export async function readManager(system: RedfishSystem, signal: AbortSignal): Promise<Resource<Manager>> {
  const { bmc, paths, unread } = await findManager(system, signal);
  if (bmc) return bmc;
  requireRead(unread);
  const named =
    paths.length === 0 ? 'names no manager' : `names ${paths.join(', ')}, and which is its BMC it doesn't say`;
  throw new AppError('not_supported', `the system at ${system.client.origin} ${named}`);
}

/**
 * Finds the system's BMC; `undefined` where none can be told to be it: of several that the system names, as blades name
 * their enclosure's, it is the only one of that type (DMTF Manager, `ManagerType`). `unread`: managers that can't be read.
 */
export async function findManager(system: RedfishSystem, signal: AbortSignal) {
  const { client } = system;
  const lost: Unread[] = [];
  const named = await unlessUnread(client, managersPath, lost, signal, () => managerPaths(system, signal));
  const paths = named ?? [];
  const { read, unread } = await readEach(client, paths, Manager, signal);
  const bmcs = paths.length === 1 ? read : read.filter(({ data }) => data.ManagerType === 'BMC');
  return { bmc: bmcs.length === 1 ? bmcs[0] : undefined, paths, unread: [...lost, ...unread] };
}
