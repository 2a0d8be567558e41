import { describe, expect, test } from 'vitest';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** Answers with status 200 in which there is no document: an error alone, or nothing. By none of them anything is absent, or over. */

const { rig } = createRigs();
const GeneralError = { error: { code: 'Base.1.8.GeneralError', message: 'A general error has occurred.' } };
const notReady = { error: { code: 'IDRAC.2.8.SYS518', message: 'iDRAC is not ready.' } };
const ofProperty = { 'Bios@Message.ExtendedInfo': [{ MessageId: 'Base.1.8.InternalError' }] };
/** Error of iLO 4 of before Redfish. */
const old = { Messages: [{ MessageID: 'iLO.0.10.ServiceTemporarilyUnavailable' }], Type: 'ExtendedError.1.0.0' };
const alone = [
  ['a general error', GeneralError],
  ['an error that says that it is not ready', notReady],
  ['an error about a property', ofProperty],
  ['an error of iLO 4', old],
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
    // nor is it gone
    expect(progress).toBe('no answer');
  });

  test('is asked again for a task that nothing else shows', async () => {
    const bmc = await rig({ clock: createInstantClock(), quirks: { tasks: true, failTasks: true } });
    bmc.simulator.inject({ method: 'GET', path: /TaskMonitors/, body, times: 12 });
    const error = await bmc.management.resetSecureBootKeys?.('none').catch(errorChain);
    expect(error).toContain('The task failed on purpose.');
    expect(bmc.simulator.faultsLeft()).toBe(0);
  });

  test('has not ended the task of BIOS settings, which are not asked for amid it', async () => {
    const bmc = await rig({ clock: createInstantClock(), quirks: { tasks: true, biosDrops: ['NumCores'] } });
    bmc.simulator.inject({ method: 'GET', path: /TaskMonitors/, body, times: Number.POSITIVE_INFINITY });
    await expect(bmc.bios?.applySettings([{ name: 'NumCores', value: '2' }])).resolves.not.toThrow();
    expect(bmc.simulator.requests.map(({ path }) => path)).toContainEqual(expect.stringContaining('TaskMonitors'));
  });
});

const messages = (...infos: readonly object[]) => ({
  error: { code: 'Base.1.8.GeneralError', message: 'See there.', '@Message.ExtendedInfo': infos },
});
const maker = { MessageId: 'Maker.1.0.FlashEnded' };
const completed = { MessageId: 'TaskEvent.1.0.TaskCompletedOK' };
const updated = { MessageId: 'Update.1.0.UpdateSuccessful' };

test.each([
  [messages(completed)],
  [messages({ ...completed, MessageSeverity: 'OK' }, { ...updated, Severity: 'OK' })],
  [messages({ ...maker, MessageSeverity: 'OK' })],
  [messages({ ...maker, Severity: 'OK' }, updated)],
  [{ '@Message.ExtendedInfo': [{ ...maker, Severity: 'OK' }] }],
  [{ error: { code: 'Base.1.8.Success', message: 'Successfully Completed Request' } }],
  [{ error: { code: 'iLO.0.10.ExtendedInfo', '@Message.ExtendedInfo': [{ MessageId: 'Base.1.4.Success' }] } }],
  [{ '@Message.ExtendedInfo': [{ MessageId: 'Base.1.4.0.Success' }] }],
  [{ Messages: [{ MessageID: 'Base.0.10.Success' }], Type: 'ExtendedError.1.0.0' }],
])('an operation that has succeeded may say so by an error: %j', async (body) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ path: /Monitors\/7$/, body });
  expect(await bmc.firmware?.getUpdateProgress('/redfish/v1/TaskService/Monitors/7')).toMatchObject({ state: 'done' });
});

const ofWork = [
  'TaskEvent.1.0.TaskStarted',
  'TaskEvent.1.0.TaskProgressChanged',
  'Update.1.0.UpdateInProgress',
  'Update.1.2.InstallingOnComponent',
  'Update.1.2.TransferringToComponent',
  'Update.1.2.AwaitToActivate',
  'Update.1.2.TargetDetermined',
  'Update.1.2.NoTargetsDetermined',
].map((id) => messages({ MessageId: id, MessageSeverity: 'OK' }));

test.each([
  messages(maker),
  messages({ ...maker, Severity: 'Fine' }),
  messages({ ...maker, Severity: 'Warning' }),
  messages({ ...maker, MessageSeverity: 'Critical', Severity: 'OK' }),
  messages({ ...completed, Severity: 'Critical' }),
  messages(updated, { MessageId: 'Update.1.0.ApplyFailed', Severity: 'Critical' }),
  messages({ ...maker, Severity: 'OK' }, maker),
  messages({ MessageId: 'IDRAC.2.8.SYS518', Severity: 'OK' }),
  ...ofWork,
])('an operation has not succeeded where not each message says so: %j', async (body) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ path: /Monitors\/7$/, body, times: Number.POSITIVE_INFINITY });
  await expect(bmc.firmware?.getUpdateProgress('/redfish/v1/TaskService/Monitors/7')).rejects.toMatchObject({
    code: 'unavailable',
  });
});

test('what is left of a collection is read, though an error stands beside it', async () => {
  const bmc = await rig();
  // https://github.com/openbmc/bmcweb/issues/75
  const Members = [{ '@odata.id': '/redfish/v1/UpdateService/FirmwareInventory/BMC' }];
  const body = { Members, 'Members@odata.count': 1, ...GeneralError };
  bmc.simulator.inject({ path: /FirmwareInventory$/, body });
  expect((await bmc.firmware?.getComponents())?.components).not.toEqual([]);
});

test.each([
  ['a redirect to the service root', { status: 302, headers: { Location: '/redfish/v1/' } }],
  ['a redirect to what is not there', { status: 307, headers: { Location: '/login.html' } }],
  ['the service root', { body: { '@odata.id': '/redfish/v1/', '@odata.type': '#ServiceRoot.v1_5_0.ServiceRoot' } }],
])('a resource of which a BMC answers %s is asked for again, and is not gone', async (_what, fault) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, ...fault, times: 3 });
  expect(await bmc.power.getPowerState()).toBe('power off');
  bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, ...fault, times: Number.POSITIVE_INFINITY });
  const error = await bmc.power.getPowerState().catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: 'unavailable', details: { sent: true } });
});

test('a redirect within the service is followed', async () => {
  const bmc = await rig({ quirks: { paths: { '/redfish/v1/Systems/1': '/redfish/v1/Systems/Self' } } });
  const headers = { Location: '/redfish/v1/Systems/Self/' };
  bmc.simulator.inject({ method: 'GET', path: /Systems\/Self$/, status: 308, headers });
  expect(await bmc.power.getPowerState()).toBe('power off');
  expect(bmc.simulator.faultsLeft()).toBe(0);
});
