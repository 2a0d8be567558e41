import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import type { ServiceState } from '#test/simulators/redfish/service-state.ts';
import { perform } from '#test/simulators/redfish/tasks.ts';

/** Actions on the BMC itself and on the firmware's keys (DMTF Manager, SecureBoot). */

export const managerPath = '/redfish/v1/Managers/1';
export const managerResetPath = `${managerPath}/Actions/Manager.Reset`;
export const resetKeysPath = '/redfish/v1/Systems/1/SecureBoot/Actions/SecureBoot.ResetKeys';

const jobQueuePath = `${managerPath}/Oem/Dell/DellJobService/Actions/DellJobService.DeleteJobQueue`;

/** Acts on Dell's job queue, as its BMCs have it. */
export function jobQueueAction(state: ServiceState, path: string, text: string): Answer | undefined {
  if (path !== jobQueuePath || state.quirks.manufacturer !== 'Dell Inc.') return undefined;
  if (parseObject(text)?.['JobID'] !== 'JID_CLEARALL') return errorAnswer(400, 'ActionParameterNotSupported');
  return { status: 200, body: {} };
}

const keys = { ResetAllKeysToDefault: 'maker', DeleteAllKeys: 'none' } as const;

/** `Manager.Reset` ends sessions and tasks; `SecureBoot.ResetKeys`. */
export async function managerAction(state: ServiceState, path: string, text: string): Promise<Answer> {
  const body = parseObject(text);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  if (path === resetKeysPath) {
    const type = String(body['ResetKeysType']);
    if (!(type in keys)) return errorAnswer(400, 'ActionParameterNotSupported');
    return perform(state, () => {
      state.secureBootKeys = keys[type as keyof typeof keys];
      return Promise.resolve();
    });
  }
  if (!state.quirks.managerResetTypes.some((type) => type === body['ResetType'])) {
    return errorAnswer(400, 'ActionParameterNotSupported');
  }
  state.counters.bmcResets += 1;
  if (state.firmware.flashing > 0) state.counters.resetsAmidWork += 1;
  state.sessions.clear();
  state.tasks.clear();
  return { status: 204 };
}

export async function setClock(state: ServiceState, body: Record<string, unknown>): Promise<Answer> {
  const at = body['DateTime'];
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) return errorAnswer(400, 'PropertyValueError');
  return perform(state, () => {
    state.clock = at;
    return Promise.resolve();
  });
}
