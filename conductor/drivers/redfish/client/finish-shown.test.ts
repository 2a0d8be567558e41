import { expect, test } from 'vitest';
import { idracDriver } from '#conductor/drivers/idrac/idrac.ts';
import { createInstantClock, createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';

/** Requests that a BMC accepts with 202, without a monitor by which their end could be followed: what it shows is the proof. */

const { rig } = createRigs();
const open = () => rig({ clock: createInstantClock(), redfish: { retryMs: 1 }, quirks: { manufacturer: 'Dell Inc.' } });
const times = Number.POSITIVE_INFINITY;
const unproven = 'the BMC has accepted it and tells no end, and nothing shows that it was done: ';

test("a BMC's clock is set once it shows that time", async () => {
  const bmc = await open();
  const set = (at: Date) => bmc.management.setBmcClock?.(at).catch(errorChain);
  const at = new Date('2030-01-02T03:04:05Z');
  const asked = '2030-01-02T03:04:05+00:00';
  bmc.simulator.inject({ method: 'PATCH', path: /Managers\/1$/, status: 202 });
  expect(await set(at)).toContain(`${unproven}it was set to ${asked}, and shows no time`);
  bmc.simulator.inject({ method: 'PATCH', path: /Managers\/1$/, actsAs: 202 });
  expect(await set(at)).toBeUndefined();
  bmc.simulator.inject({ method: 'PATCH', path: /Managers\/1$/, status: 202 });
  expect(await set(new Date('2031-01-01T00:00:00Z'))).toContain(`, and shows ${asked}`);
});

const keys = '/redfish/v1/Systems/1/SecureBoot';
const mode = (word: string | null) => ({
  '@odata.id': keys,
  Id: 'SecureBoot',
  SecureBootMode: word,
  Actions: { '#SecureBoot.ResetKeys': { target: `${keys}/Actions/SecureBoot.ResetKeys` } },
});

test.each([
  ['none', 'UserMode', 'SetupMode', undefined],
  ['maker', 'SetupMode', 'DeployedMode', undefined],
  ['none', 'UserMode', 'UserMode', 'SecureBootMode is UserMode as before'],
  // some of the keys may be gone in either case
  ['maker', 'UserMode', 'UserMode', 'SecureBootMode is UserMode as before'],
  ['none', 'UserMode', null, 'SecureBootMode is no mode'],
] as const)('secure boot keys are reset (%s) where the mode goes from %s to %s', async (to, before, after, words) => {
  const bmc = await open();
  bmc.simulator.inject({ method: 'GET', path: /SecureBoot$/, body: mode(before) });
  bmc.simulator.inject({ method: 'GET', path: /SecureBoot$/, body: mode(after), times });
  bmc.simulator.inject({ method: 'POST', path: /ResetKeys$/, status: 202 });
  const error = await bmc.management.resetSecureBootKeys?.(to).catch(errorChain);
  expect(error ?? '').toContain(words === undefined ? '' : unproven + words);
  expect(error === undefined).toBe(words === undefined);
});

const jobs = '/redfish/v1/Managers/1/Oem/Dell/Jobs';
test.each([
  ['of jobs that have ended', { JobState: 'Completed' }, undefined],
  ['of one that waits', { JobState: 'Scheduled' }, `${unproven}the queue has JID_7`],
  ['that can not be read', undefined, 'JID_7'],
])("Dell's queue %s", async (_what, job, words) => {
  const bmc = await open();
  const type = idracDriver.open({ run, log: silentLog, clock: createInstantClock() }, { retryMs: 1 });
  const { management } = type.connect(bmc.login);
  bmc.simulator.inject({ method: 'POST', path: /DeleteJobQueue$/, status: 202, times });
  bmc.simulator.inject({ path: /Dell\/Jobs$/, body: { Members: [{ '@odata.id': `${jobs}/JID_7` }] }, times });
  bmc.simulator.inject({ path: /JID_7$/, ...(job ? { body: { Id: 'JID_7', ...job } } : { status: 404 }), times });
  const error = await management.clearJobQueue?.().catch(errorChain);
  await type.close?.();
  expect(error ?? '').toContain(words ?? '');
  expect(error === undefined).toBe(words === undefined);
});

test('a lamp is switched once it is shown so', async () => {
  const bmc = await open();
  const [lamp] = (await bmc.indicators?.list({ component: 'system' })) ?? [];
  if (!lamp) throw new Error('no lamp');
  const other = lamp.state === 'ON' ? 'OFF' : 'ON';
  bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 202 });
  expect(await bmc.indicators?.set(lamp, other).catch(errorChain)).toContain(`${unproven}it is ${lamp.state}`);
  bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, actsAs: 202 });
  expect(await bmc.indicators?.set(lamp, other).catch(errorChain)).toBeUndefined();
});

test('an event subscription is deleted once it is no longer listed', async () => {
  const bmc = await open();
  const { id } = (await bmc.events?.subscribe({ destination: 'https://192.0.2.7/events' })) ?? {};
  bmc.simulator.inject({ method: 'DELETE', path: /Subscriptions/, status: 202 });
  expect(await bmc.events?.unsubscribe(id ?? '').catch(errorChain)).toContain(`${unproven}it is still listed`);
  bmc.simulator.inject({ method: 'DELETE', path: /Subscriptions/, actsAs: 202 });
  expect(await bmc.events?.unsubscribe(id ?? '').catch(errorChain)).toBeUndefined();
});
