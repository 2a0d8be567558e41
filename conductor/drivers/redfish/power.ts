import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { PowerInterface } from '#conductor/drivers/interfaces.ts';
import { reachPowerTarget } from '#conductor/drivers/reach-power-target.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/client/errors.ts';
import { type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { ActionInfo, type ComputerSystem } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { finishTask } from '#conductor/drivers/redfish/client/task.ts';
import { healthOf } from '#conductor/drivers/redfish/hardware.ts';
import { type PowerState, powerTargets } from '#conductor/model/power-and-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Reset types in order of preference; a BMC has at least one of each row, hopefully. */
const resetTypes = {
  powerOn: ['On', 'ForceOn', 'PushPowerButton'],
  powerOff: ['ForceOff'],
  softPowerOff: ['GracefulShutdown', 'PushPowerButton'],
  // after the other one some BMCs cut the power where the machine stays on
  button: ['PushPowerButton', 'GracefulShutdown'],
} as const;

export interface PowerTimings {
  readonly pollMs: number;
  readonly resendAfterMs: number;
}

const powerTimings: PowerTimings = { pollMs: 1000, resendAfterMs: 30_000 };
const readTimeoutMs = 60_000;
const hardTimeoutMs = 120_000;
/** An operating system may take its time to shut down (Ironic's `soft_power_off_timeout`). */
const softTimeoutMs = 600_000;

/** Power by `ComputerSystem.Reset` (DMTF ComputerSystem schema). */
export function redfishPower(system: RedfishSystem, timings: PowerTimings = powerTimings): PowerInterface {
  return {
    supportedTargets: powerTargets,
    getPowerState: async (options) => {
      const { data } = await system.read(callDeadline(options, readTimeoutMs).signal);
      return powerStateOf(data);
    },
    getPowerAndHealth: async (options) => {
      const { data } = await system.read(callDeadline(options, readTimeoutMs).signal);
      return { powerState: powerStateOf(data), health: healthOf(data.Status?.Health) };
    },
    pressPowerButton: (options) => resetSystem(system, resetTypes.button, callDeadline(options, hardTimeoutMs).signal),
    setPowerState: async (target, options) => {
      const { signal, timeoutMs } = callDeadline(options, target.startsWith('soft') ? softTimeoutMs : hardTimeoutMs);
      await reachPowerTarget(
        target,
        {
          bmc: system.client.origin,
          read: async () => {
            const { data } = await system.read(signal);
            return powerStateOf(data) ?? (data.PowerState ? 'changing' : undefined);
          },
          powerOn: () => resetSystem(system, resetTypes.powerOn, signal, 'power on'),
          powerOff: () => resetSystem(system, resetTypes.powerOff, signal, 'power off'),
          softPowerOff: () => resetSystem(system, resetTypes.softPowerOff, signal),
        },
        { clock: system.clock, signal, timeoutMs, ...timings },
      );
    },
  };
}

function powerStateOf(system: ComputerSystem): PowerState | undefined {
  if (system.PowerState === 'On') return 'power on';
  return system.PowerState === 'Off' ? 'power off' : undefined;
}

/**
 * Tries the reset types that the BMC lists, or all when it lists none, until it takes one.
 * @param wanted the state that is to come of it: a machine that is there though the BMC has refused gets no other type
 * @throws AppError `not_supported` when it lists none of them.
 */
export async function resetSystem(
  system: RedfishSystem,
  preferred: readonly string[],
  signal: AbortSignal,
  wanted?: PowerState,
): Promise<void> {
  const resource = await system.read(signal);
  const action = resource.data.Actions?.['#ComputerSystem.Reset'];
  const legal = await allowedResetTypes(system, resource, signal);
  const candidates = preferred.filter((type) => legal?.includes(type) ?? true);
  const [first] = candidates;
  if (first === undefined) {
    throw new AppError(
      'not_supported',
      `${system.client.origin} supports no reset type of ${preferred.join(', ')}; it lists ${legal?.join(', ') || 'none'}`,
    );
  }
  const path = action?.target ?? `${resource.path}/Actions/ComputerSystem.Reset`;
  for (const type of candidates) {
    const what = `reset ${type} at ${system.client.origin}`;
    try {
      const body = { ResetType: type };
      const answer = await system.client.request({
        method: 'POST',
        path,
        body,
        mayRepeat: wanted !== undefined,
        signal,
      });
      await finishTask(system.client, answer, what, { clock: system.clock, signal, isLookedAt: true });
      return;
    } catch (error) {
      const refused = [400, 405, 422, 501].includes(httpStatusOf(error) ?? 0);
      if (!refused || type === candidates.at(-1)) throw error;
      // a press of the button would shut it down
      if (wanted !== undefined && powerStateOf((await system.read(signal)).data) === wanted) return;
    }
  }
}

async function allowedResetTypes(
  system: RedfishSystem,
  resource: Resource<ComputerSystem>,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const action = resource.data.Actions?.['#ComputerSystem.Reset'];
  const listed = action?.['ResetType@Redfish.AllowableValues'];
  if (listed && listed.length > 0) return listed;
  const infoPath = action?.['@Redfish.ActionInfo'];
  if (!infoPath) return undefined;
  try {
    const info = await readResource(system.client, infoPath, ActionInfo, signal);
    return info.data.Parameters.find((parameter) => parameter.Name === 'ResetType')?.AllowableValues ?? undefined;
  } catch (error) {
    // the resource is advice: without it the types are tried in turn
    if (error instanceof AppError && error.code === 'bmc_error') return undefined;
    throw error;
  }
}
