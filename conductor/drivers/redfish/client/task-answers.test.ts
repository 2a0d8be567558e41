import { describe, expect, test } from 'vitest';
import { createInstantClock, createRigs, hastyClock } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Fault } from '#test/simulators/redfish/faults.ts';

/** Answers about a task that have no word of its state in them, of which only few are its end. */

const { rig } = createRigs();
const times = Number.POSITIVE_INFINITY;
const path = '/redfish/v1/TaskService/Tasks/7';
const asTask = { '@odata.id': path, '@odata.type': '#Task.v1_4_3.Task' };
const GeneralError = { error: { code: 'Base.1.8.GeneralError', message: 'A general error has occurred.' } };
const InternalError = { error: { code: 'Base.1.8.InternalError', message: 'An internal error has occurred.' } };
const root = '/redfish/v1/';

const messages = (...infos: readonly object[]) => ({
  error: { code: 'Base.1.8.GeneralError', '@Message.ExtendedInfo': infos },
});
const success = { MessageId: 'Base.1.8.Success' };
const internal = { MessageId: 'Base.1.8.InternalError' };

const unclear: readonly (readonly [string, Omit<Fault, 'path'>])[] = [
  ['nothing', { status: 200 }],
  ['a list', { body: [] }],
  ['null', { body: 'null' }],
  ['a number', { body: '0' }],
  ['an error and its context', { body: { '@odata.context': '/redfish/v1/$metadata#Task', ...GeneralError } }],
  ['an error in the place of the task', { body: { ...asTask, ...InternalError } }],
  ['a status of its own', { body: { status: 503, message: 'Service Unavailable' } }],
  ["an error of AMI's web server", { body: { cc: 7, error: 'Invalid Authentication' } }],
  ['a list of errors', { body: { errors: [{ code: 'x' }] } }],
  ['a task without a state', { body: { ...asTask, Id: '7', Name: 'Update' } }],
  ['a task whose state is null', { body: { ...asTask, Id: '7', TaskState: null, PercentComplete: 35 } }],
  ['a task whose state is a number', { body: { ...asTask, Id: '7', TaskState: 4 } }],
  ['the service root', { body: { '@odata.id': root, '@odata.type': '#ServiceRoot.v1_5_0.ServiceRoot', Id: 'Root' } }],
  ['a redirect to the service root', { status: 302, headers: { Location: root } }],
  ['a redirect to a page that is not there', { status: 302, headers: { Location: '/login.html' } }],
  ['304', { status: 304 }],
  ['201 and an empty document', { status: 201, body: {} }],
  ['203 and an empty document', { status: 203, body: {} }],
  ['success and an error beside it', { body: messages(success, internal) }],
  ['success and a critical message beside it', { body: messages(success, { ...internal, Severity: 'Critical' }) }],
];

describe.each(unclear)('a task of which a BMC answers %s', (_what, fault) => {
  test('is not done', async () => {
    const bmc = await rig({ clock: createInstantClock() });
    await bmc.power.getPowerState();
    bmc.simulator.inject({ ...fault, path: /Tasks\/7$/, times });
    const progress = await bmc.firmware?.getUpdateProgress(path).catch(() => ({ state: 'no answer' }));
    expect(['unclear', 'no answer']).toContain(progress?.state);
  });

  test('is asked after until it says its end', async () => {
    const bmc = await rig({ clock: hastyClock, redfish: { retryMs: 1 }, quirks: { tasks: true, failTasks: true } });
    await bmc.power.getPowerState();
    bmc.simulator.inject({ ...fault, method: 'GET', path: /TaskMonitors/, times: 6 });
    const error = await bmc.management.resetSecureBootKeys?.('none').catch(errorChain);
    expect(error).toContain('The task failed on purpose.');
    expect(bmc.simulator.faultsLeft()).toBe(0);
  });

  test('is asked again, though it has said nothing of a task before, and something else shows its end', async () => {
    const bmc = await rig({ clock: hastyClock, redfish: { retryMs: 1 } });
    await bmc.power.getPowerState();
    const headers = { Location: '/redfish/v1/TaskService/Monitors/5' };
    bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, actsAs: 202, headers });
    bmc.simulator.inject({ ...fault, path: /Monitors\/5$/, times: 6 });
    bmc.simulator.inject({ path: /Monitors\/5$/, body: { TaskState: 'Completed' } });
    await bmc.management.setBootDevice('pxe', { persistent: false });
    expect(bmc.simulator.faultsLeft()).toBe(0);
  });
});

test('a place that never says anything of a task is left, where something else shows the end', async () => {
  const bmc = await rig({ clock: hastyClock });
  const headers = { Location: '/redfish/v1/Chassis/1' };
  bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, actsAs: 202, headers });
  await bmc.management.setBootDevice('pxe', { persistent: false });
  expect(await bmc.management.getBootDevice()).toMatchObject({ bootDevice: 'pxe' });
});

describe('settings of a BIOS that are answered 202 with a place', () => {
  const cores = [{ name: 'NumCores', value: '4' }];
  const open = async (Location: string) => {
    const bmc = await rig({ clock: hastyClock, redfish: { retryMs: 1 } });
    bmc.simulator.inject({ method: 'PATCH', path: /Bios\/Settings$/, actsAs: 202, headers: { Location } });
    return bmc;
  };

  test('that never says anything of a task have none', async () => {
    const bmc = await open('/redfish/v1/Chassis/1');
    expect(await bmc.bios?.applySettings(cores)).toBeUndefined();
    expect((await bmc.bios?.getProgress())?.pending).toEqual(cores);
  });

  test.each<[string, Omit<Fault, 'path'>]>([
    ['is silent', { status: 503, times }],
    ['says only later how its task is', { body: { Id: '5', Name: 'Task' }, times: 6 }],
  ])('that %s have that task', async (_how, fault) => {
    const bmc = await open('/redfish/v1/TaskService/Monitors/5');
    bmc.simulator.inject({ ...fault, path: /Monitors\/5$/ });
    bmc.simulator.inject({ path: /Monitors\/5$/, body: { TaskState: 'Pending' } });
    expect(await bmc.bios?.applySettings(cores)).toBe('/redfish/v1/TaskService/Monitors/5');
  });
});

const news = (MessageId: string | undefined, Message?: string) => messages({ MessageId, Message, Severity: 'OK' });
const informed = { MessageId: 'IDRAC.2.8.SYS413', Severity: 'Informational' };
test.each<[string, Omit<Fault, 'path'>]>([
  ['204', { status: 204 }],
  ['success', { body: messages(success) }],
  ["Dell's own message of success", { body: news('IDRAC.2.8.SYS413', 'The operation successfully completed.') }],
  ["success with Dell's own message", { body: messages(success, informed) }],
  ['success in the place of the task', { body: { ...asTask, ...messages(success) } }],
])('a monitor ends with %s', async (_what, fault) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ ...fault, path: /Tasks\/7$/ });
  expect(await bmc.firmware?.getUpdateProgress(path)).toMatchObject({ state: 'done' });
});

const critical = { ...internal, Severity: 'Critical' };

test.each<[string, object]>([
  ['that a job has begun', news('JobEvent.1.0.JobStarted')],
  ['that a job goes on', news('JobEvent.1.0.JobProgressChanged')],
  ['that the service is alive', news('HeartbeatEvent.1.0.RedfishServiceFunctional')],
  ['that something has changed', news('ResourceEvent.1.0.ResourceChanged')],
  ['that a package comes', news('IDRAC.2.8.RED002', 'Downloading package.')],
  ['that a job was made', news('IDRAC.2.8.JCP027', 'The job is successfully created on iDRAC.')],
  ['that the image has come', news('Maker.1.0.ImageTransferCompleted')],
  ['how far it is', news('Maker.1.0.Progress', 'Update is 35 % completed.')],
  ['that it is partly done', news('Maker.1.0.PartialSuccess')],
  ['what is to come', news('Maker.1.0.Info', 'The firmware will be updated.')],
  ['words alone', news(undefined, 'Update in progress')],
  ['that it ended with an error', news('Maker.1.0.UpdateEnded', 'The update has ended with an error.')],
  ['that it completed, and failed', news('Maker.1.0.Info', 'Update completed: failed.')],
  ['that it is done, by cancelling it', news('Maker.1.0.Cancelled', 'Done.')],
  ['success that is critical', messages({ ...success, Severity: 'Critical' })],
  ['success and what is no message', { error: { code: 'Base.1.8.Success', '@Message.ExtendedInfo': 'flash failed' } }],
  [
    'success and an error after nothing',
    { error: { code: 'Base.1.8.Success', '@Message.ExtendedInfo': [null, critical] } },
  ],
  ['success and an error in words of its own', { error: 'Internal Error', '@Message.ExtendedInfo': [success] }],
])('a monitor does not end with %s', async (_what, body) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ path: /Tasks\/7$/, body, times });
  const progress = await bmc.firmware?.getUpdateProgress(path).catch(() => ({ state: 'no answer' }));
  expect(['unclear', 'no answer']).toContain(progress?.state);
});

test.each<[string, object]>([
  ['beside one that is none', { Messages: [null, { ...critical, Message: 'flash failed' }] }],
  ['that stands alone', { Messages: { ...critical, Message: 'flash failed' } }],
  ['in capitals', { Messages: [{ ...internal, MessageSeverity: 'CRITICAL' }] }],
  ['in place of the status', { TaskStatus: { Health: 'Critical' } }],
])('a completed task has failed by a critical word %s', async (_what, word) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ path: /Tasks\/7$/, body: { ...asTask, TaskState: 'Completed', ...word } });
  expect(await bmc.firmware?.getUpdateProgress(path)).toMatchObject({ state: 'failed' });
});

const keys = '/redfish/v1/Systems/1/SecureBoot';
test.each<[string, Omit<Fault, 'path'>]>([
  ['the resource that has the action', { body: { '@odata.id': keys, Id: 'SecureBoot', Name: 'Secure Boot' } }],
  ['what was made there', { status: 201, headers: { Location: `${keys}/SecureBootDatabases/db` } }],
])('a monitor ends with the answer of the operation: %s', async (_what, fault) => {
  const bmc = await rig({ clock: hastyClock, quirks: { tasks: true, failTasks: true } });
  bmc.simulator.inject({ ...fault, method: 'GET', path: /TaskMonitors/ });
  await expect(bmc.management.resetSecureBootKeys?.('none')).resolves.toBeUndefined();
});

test('a monitor does not end with another resource, or with an error in the place of the right one', async () => {
  const bmc = await rig({ clock: hastyClock, quirks: { tasks: true, failTasks: true } });
  const other = { '@odata.id': '/redfish/v1/Systems/1', Id: '1', Name: 'System' };
  for (const body of [other, { '@odata.id': keys, Id: 'SecureBoot', Name: 'Secure Boot', ...GeneralError }]) {
    bmc.simulator.inject({ method: 'GET', path: /TaskMonitors/, body });
  }
  const error = await bmc.management.resetSecureBootKeys?.('none').catch(errorChain);
  expect(error).toContain('The task failed on purpose.');
  expect(bmc.simulator.faultsLeft()).toBe(0);
});

const noFile = () => Promise.reject(new Error('no image is sent'));
const update = { component: 'bmc', url: 'http://192.0.2.7/bmc-3.0.0.bin', mustPush: false };

test('an update whose Location is the service that was asked names no task', async () => {
  const bmc = await rig({ clock: createInstantClock() });
  const headers = { Location: '/redfish/v1/UpdateService' };
  bmc.simulator.inject({ method: 'POST', path: /SimpleUpdate$/, status: 202, headers });
  expect(await bmc.firmware?.startUpdate(update, noFile)).toEqual({ before: '1.0.0', task: undefined });
});

test('an update that is answered 200 with an error alone is refused, in its words', async () => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ method: 'POST', path: /SimpleUpdate$/, body: GeneralError });
  const error = await bmc.firmware?.startUpdate(update, noFile).catch(errorChain);
  expect(error).toContain('answered 200: A general error has occurred.');
});

const alone = (info: object) => ({ error: { code: 'iLO.0.10.ExtendedInfo', '@Message.ExtendedInfo': [info] } });
test.each<[string, object, boolean]>([
  ['that iLO resets itself', alone({ MessageId: 'iLO.2.14.ResetInProgress' }), true],
  ['a maker’s message of severity OK', alone({ MessageId: 'Maker.1.0.Begun', Severity: 'OK' }), true],
  ['a maker’s warning', alone({ MessageId: 'Maker.1.0.Refused', Severity: 'Warning' }), false],
  ['an error of DMTF without a severity', alone({ MessageId: 'Base.1.8.ActionNotSupported' }), false],
  ['that it is not ready', alone({ MessageId: 'IDRAC.2.8.SYS518' }), false],
  ['an error without messages', GeneralError, false],
])('a reset that is answered 200 with %s: %j is taken: %s', async (_what, body, isTaken) => {
  const bmc = await rig({ clock: createInstantClock() });
  bmc.simulator.inject({ method: 'POST', path: /Manager\.Reset$/, body, times });
  const taken = await bmc.management.resetBmc?.().then(
    () => true,
    () => false,
  );
  expect(taken).toBe(isTaken);
});

test('a listed task without a state may be the update that was asked for', async () => {
  const bmc = await rig({ clock: createInstantClock() });
  const tasks = '/redfish/v1/TaskService/Tasks';
  bmc.simulator.inject({ path: /Tasks$/, body: { Members: [{ '@odata.id': path }], 'Members@odata.count': 1 } });
  bmc.simulator.inject({ path: /Tasks\/7$/, body: { ...asTask, Id: '7', Name: 'Update' } });
  const found = await bmc.firmware?.findUpdate('bmc', { version: '1.0.0', tasks: [`${tasks}/6`] });
  expect(found).toEqual({ state: 'at work' });
});

const biosPath = '/redfish/v1/Systems/1/Bios';
test.each([
  ['an error in its place', { '@odata.id': biosPath, '@odata.type': '#Bios.v1_1_0.Bios', ...InternalError }],
  ['no attributes, which it had before', { '@odata.id': biosPath, Id: 'BIOS', Name: 'BIOS' }],
  ['nothing but where it is', { '@odata.id': biosPath, '@odata.type': '#Bios.v1_1_0.Bios' }],
])('a Bios of which a BMC answers %s has not said that no defaults are to come', async (_what, body) => {
  const bmc = await rig({ clock: createInstantClock() });
  await bmc.bios?.factoryReset();
  bmc.simulator.inject({ method: 'GET', path: /Bios$/, body, times });
  await expect(bmc.bios?.getProgress()).rejects.toMatchObject({
    code: expect.stringMatching(/^(unavailable|bmc_error)$/) as string,
  });
  bmc.simulator.clearFaults();
  expect(await bmc.bios?.getProgress()).toMatchObject({ defaultsPending: true });
});
