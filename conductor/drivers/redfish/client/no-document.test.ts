import { describe, expect, test } from 'vitest';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';

/** Answers with status 200 in which there is no document: an error alone, or nothing. By none of them anything is absent, or over. */

const { rig } = createRigs();
const GeneralError = { error: { code: 'Base.1.8.GeneralError', message: 'A general error has occurred.' } };
const notReady = { error: { code: 'IDRAC.2.8.SYS518', message: 'iDRAC is not ready.' } };
const ofProperty = { 'Bios@Message.ExtendedInfo': [{ MessageId: 'Base.1.8.InternalError' }] };
const alone = [
  ['a general error', GeneralError],
  ['an error that says that it is not ready', notReady],
  ['an error about a property', ofProperty],
  ['nothing', {}],
] as const;

describe.each(alone)('a BMC that answers 200 with %s', (_what, body) => {
  test('is asked again', async () => {
    const bmc = await rig({ clock: createInstantClock() });
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body, times: 3 });
    expect(await bmc.power.getPowerState()).toBe('power off');
    expect(bmc.simulator.faultsLeft()).toBe(0);
  });

  test('has not said that no defaults are to come', async () => {
    const bmc = await rig({ clock: createInstantClock() });
    await bmc.bios?.factoryReset();
    bmc.simulator.inject({ method: 'GET', path: /Bios$/, body, times: Number.POSITIVE_INFINITY });
    await expect(bmc.bios?.getProgress()).rejects.toMatchObject({
      code: expect.stringMatching(/^(unavailable|bmc_error)$/) as string,
    });
    bmc.simulator.clearFaults();
    expect(await bmc.bios?.getProgress()).toMatchObject({ defaultsPending: true });
  });

  test('has not said that its task is over', async () => {
    const bmc = await rig({ clock: createInstantClock() });
    await bmc.power.getPowerState();
    bmc.simulator.inject({ path: /Tasks\/7$/, body, times: Number.POSITIVE_INFINITY });
    const progress = await bmc.firmware?.getUpdateProgress('/redfish/v1/TaskService/Tasks/7').catch(() => 'no answer');
    // a task of which nothing is said is looked for by what it makes
    expect(['no answer', { state: 'lost', percent: undefined }]).toContainEqual(progress);
  });
});

test.each([
  [{ error: { code: 'Base.1.8.Success', message: 'Successfully Completed Request' } }],
  [{ error: { code: 'iLO.0.10.ExtendedInfo', '@Message.ExtendedInfo': [{ MessageId: 'Base.1.4.Success' }] } }],
  [{ '@Message.ExtendedInfo': [{ MessageId: 'Base.1.4.0.Success' }] }],
])('an operation that has succeeded may say so by an error: %j', async (body) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ path: /Monitors\/7$/, body });
  expect(await bmc.firmware?.getUpdateProgress('/redfish/v1/TaskService/Monitors/7')).toMatchObject({ state: 'done' });
});

test('what is left of a collection is read, though an error stands beside it', async () => {
  const bmc = await rig();
  // https://github.com/openbmc/bmcweb/issues/75
  const Members = [{ '@odata.id': '/redfish/v1/UpdateService/FirmwareInventory/BMC' }];
  const body = { Members, 'Members@odata.count': 1, ...GeneralError };
  bmc.simulator.inject({ path: /FirmwareInventory$/, body });
  expect(await bmc.firmware?.getComponents()).not.toEqual([]);
});
