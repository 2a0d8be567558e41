import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import { bootBios } from '#test/simulators/redfish/bios.ts';
import type { ServiceRequest, ServiceState } from '#test/simulators/redfish/service-state.ts';
import { bootStorage } from '#test/simulators/redfish/storage.ts';
import { perform, workUntil } from '#test/simulators/redfish/tasks.ts';
import { bootFirmware } from '#test/simulators/redfish/update-service.ts';

const powerActions: Readonly<Record<string, 'on' | 'off' | 'reset' | 'graceful'>> = {
  On: 'on',
  ForceOn: 'on',
  ForceOff: 'off',
  GracefulShutdown: 'graceful',
  GracefulRestart: 'reset',
  ForceRestart: 'reset',
  PowerCycle: 'reset',
};

/** `ComputerSystem.Reset`. */
export async function reset(state: ServiceState, request: ServiceRequest): Promise<Answer> {
  const body = parseObject(request.body);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  const resetType = body['ResetType'];
  if (typeof resetType !== 'string') return errorAnswer(400, 'ActionParameterMissing');
  if (resetType === 'Nmi' && state.quirks.resetTypes.includes(resetType)) {
    return perform(state, () => {
      state.counters.nmis += 1;
      return Promise.resolve();
    });
  }
  const power = await state.machine.getPower();
  const action = resetType === 'PushPowerButton' ? (power === 'on' ? 'graceful' : 'on') : powerActions[resetType];
  if (action === undefined || !state.quirks.resetTypes.includes(resetType)) {
    return errorAnswer(400, 'ActionParameterNotSupported', {
      text: `The parameter ResetType with the value ${resetType} is not supported.`,
    });
  }
  if (state.quirks.ignoredPowerActions > 0) {
    state.quirks.ignoredPowerActions -= 1;
    return { status: 204 };
  }
  return perform(state, async () => {
    state.counters.powerChanges += 1;
    const isAtWork = state.firmware.flashing + state.atWork.count > 0;
    if (isAtWork && (action !== 'on' || power === 'off')) state.counters.resetsAmidWork += 1;
    if (state.pendingBoot && action !== 'off' && action !== 'graceful') {
      await state.machine.setBoot(state.pendingBoot);
      state.pendingBoot = undefined;
    }
    const { slowPowerMs } = state.quirks;
    if (slowPowerMs > 0) {
      state.transition = {
        until: Date.now() + slowPowerMs,
        shown: action === 'off' || action === 'graceful' ? 'PoweringOff' : 'PoweringOn',
      };
    }
    if (action === 'reset' || (action === 'on' && power === 'off')) startFirmware(state);
    await state.machine.setPower(action);
  });
}

function startFirmware(state: ServiceState): void {
  bootStorage(state);
  const { biosAppliesAfter, firmwareWrittenAfter } = state.quirks;
  const isNew = Object.keys(state.firmware.pending).length > 0;
  if (firmwareWrittenAfter === undefined || !isNew) bootFirmware(state);
  else workUntil(state, firmwareWrittenAfter, () => bootFirmware(state));
  const isAsked = state.bios.defaultsPending || Object.keys(state.bios.pending).length > 0;
  const take = (): void => bootBios(state.bios, state.quirks);
  beginBiosTasks(state);
  if (biosAppliesAfter === undefined) take();
  else if (isAsked) workUntil(state, biosAppliesAfter, take);
}

/** Begins them, while the values that they change are shown. */
function beginBiosTasks(state: ServiceState): void {
  const { tasks, biosTasks, quirks } = state;
  for (const id of biosTasks) {
    tasks.set(id, { polls: Number.POSITIVE_INFINITY, failed: false, shown: 'Running' });
    const end = (): void => {
      if (tasks.has(id)) tasks.set(id, { polls: 0, failed: quirks.failTasks });
    };
    workUntil(state, quirks.biosTaskEnds ?? Promise.resolve(), end);
  }
  biosTasks.clear();
}
